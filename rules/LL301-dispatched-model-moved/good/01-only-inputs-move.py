"""Fine: the map places the model, and only the inputs are moved, to wherever the model begins."""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-13b-hf")
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-13b-hf", torch_dtype=torch.bfloat16, device_map="auto")
model.eval()

for line in open("prompts.txt"):
    inputs = tokenizer(line.strip(), return_tensors="pt").to(model.device)
    with torch.no_grad():
        output = model.generate(**inputs, max_new_tokens=32)
    print(tokenizer.decode(output[0], skip_special_tokens=True))
