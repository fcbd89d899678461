"""Fine: the model is moved only when no device map placed it."""
import torch
from transformers import AutoModelForCausalLM

several = torch.cuda.device_count() > 1
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto" if several else None)
if not several:
    model.to("cuda")
other = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
if getattr(other, "hf_device_map", None) is None:
    other.to("cuda")
