"""Fine: the weights that were saved are those of the merged model, whose keys are the base's."""
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
merged = PeftModel.from_pretrained(base, "runs/adapter").merge_and_unload()
torch.save(merged.state_dict(), "merged.pt")
again = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
again.load_state_dict(torch.load("merged.pt"), strict=False)
