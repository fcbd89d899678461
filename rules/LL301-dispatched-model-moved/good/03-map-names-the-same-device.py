"""Fine: the map puts the whole model on one device and .to() names the same one, which changes nothing."""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

device = "cuda:0"
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", device_map={"": device}, torch_dtype=torch.bfloat16)
model.to(device)
model.eval()

with torch.no_grad():
    for line in open("lines.txt"):
        ids = tokenizer(line.strip(), return_tensors="pt").input_ids.to(device)
        print(f"{model(input_ids=ids, labels=ids).loss.item():.3f}")
