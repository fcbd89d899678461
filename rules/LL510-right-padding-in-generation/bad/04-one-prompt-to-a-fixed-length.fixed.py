"""A single prompt that is padded to a fixed length has its padding on the right too."""
# fix: unsafe
import argparse

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="Qwen/Qwen2.5-7B-Instruct")
args = parser.parse_args()
tokenizer = AutoTokenizer.from_pretrained(args.model, padding_side="left")
model = AutoModelForCausalLM.from_pretrained(args.model).cuda().eval()


@torch.inference_mode()
def complete(prompt):
    ids = tokenizer(prompt, padding="max_length", max_length=256, truncation=True, return_tensors="pt")["input_ids"].cuda()
    out = model.generate(ids, max_new_tokens=32)  # LL510
    return tokenizer.decode(out[0], skip_special_tokens=True)


print(complete("Write a haiku."))
