"""Fine: a map that names only the CPU attaches no hooks, so the merged model may move afterwards."""
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

name = "meta-llama/Llama-2-7b-hf"
base = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float32, device_map={"": "cpu"})
model = PeftModel.from_pretrained(base, "runs/adapter").merge_and_unload()
model.save_pretrained("merged")

model = model.to("cuda").eval()
tokenizer = AutoTokenizer.from_pretrained(name)
inputs = tokenizer("A first look at the merged model:", return_tensors="pt").to(model.device)
with torch.no_grad():
    print(tokenizer.decode(model.generate(**inputs, max_new_tokens=24)[0], skip_special_tokens=True))
