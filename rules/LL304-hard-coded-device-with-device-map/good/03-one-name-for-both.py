"""Fine: the map and the inputs use the same device, written once."""
import argparse

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda:1")
args = parser.parse_args()

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", device_map={"": args.device}, torch_dtype=torch.bfloat16).eval()
with torch.no_grad():
    for line in open("lines.txt"):
        ids = tokenizer(line.strip(), return_tensors="pt").input_ids.to(args.device)
        print(model(input_ids=ids, labels=ids).loss.item())
