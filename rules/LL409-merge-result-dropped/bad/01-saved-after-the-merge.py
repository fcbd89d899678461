"""The merged model is thrown away, the emptied PeftModel is saved."""
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.bfloat16)
model = PeftModel.from_pretrained(base, "runs/adapter")
model.merge_and_unload()  # LL409
model.save_pretrained("runs/merged")
AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B").save_pretrained("runs/merged")
