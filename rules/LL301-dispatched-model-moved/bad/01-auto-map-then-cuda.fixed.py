"""device_map="auto" places the layers; .cuda() then pulls all of them onto one card."""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

name = "meta-llama/Llama-2-13b-hf"
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16, device_map="auto")
model.eval()

for line in open("prompts.txt"):
    inputs = tokenizer(line.strip(), return_tensors="pt").to(model.device)
    with torch.no_grad():
        output = model.generate(**inputs, max_new_tokens=32)
    print(tokenizer.decode(output[0], skip_special_tokens=True))
