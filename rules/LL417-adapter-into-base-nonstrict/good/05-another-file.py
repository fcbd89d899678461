"""Fine: what the file holds is not known, and strictness that is left on would say what is missing."""
import sys

import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model.load_state_dict(torch.load(sys.argv[1], map_location="cpu"), strict=False)
model.load_state_dict(torch.load("runs/adapter/adapter_model.bin"))
