"""Fine: the adapters are taken out again, unmerged."""
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained(sys.argv[1])
for adapter in sys.argv[2:]:
    model = PeftModel.from_pretrained(base, adapter)
    print(model(input_ids=torch.ones(1, 4, dtype=torch.long)).logits.sum())
    base = model.unload()
