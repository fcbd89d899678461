"""Load, merge and measure in one expression, in a function."""
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM


def compare(base_name, names, batch):
    base = AutoModelForCausalLM.from_pretrained(base_name, torch_dtype=torch.bfloat16)
    losses = {}
    for name in names:
        tuned = PeftModel.from_pretrained(base, name).merge_and_unload()  # LL414
        with torch.no_grad():
            losses[name] = tuned(**batch).loss.item()
    return losses


print(compare(sys.argv[1], sys.argv[2:], torch.load("batch.pt")))
