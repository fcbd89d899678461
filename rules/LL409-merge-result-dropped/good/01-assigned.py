"""Fine: the merged model is what is saved."""
from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = PeftModel.from_pretrained(base, "runs/adapter")
model = model.merge_and_unload()
model.save_pretrained("runs/merged")
