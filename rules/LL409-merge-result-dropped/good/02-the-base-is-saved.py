"""Fine: merging changes the base itself, and the base is what is saved."""
from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
wrapped = PeftModel.from_pretrained(base, "runs/adapter")
wrapped.merge_and_unload()
base.save_pretrained("runs/merged")
