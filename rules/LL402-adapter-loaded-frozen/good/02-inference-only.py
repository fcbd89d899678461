"""Fine: the adapter is only used to generate, frozen is what it should be."""
import argparse

import torch
from peft import AutoPeftModelForCausalLM
from transformers import AutoTokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--adapter", default="runs/round1")
args = parser.parse_args()

model = AutoPeftModelForCausalLM.from_pretrained(args.adapter, torch_dtype=torch.bfloat16).to("cuda").eval()
tokenizer = AutoTokenizer.from_pretrained(args.adapter)
for prompt in open("prompts.txt"):
    inputs = tokenizer(prompt.strip(), return_tensors="pt").to("cuda")
    with torch.inference_mode():
        print(tokenizer.decode(model.generate(**inputs, max_new_tokens=16)[0]))
