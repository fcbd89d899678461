"""Fine: the list is changed in a line of its own."""
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

targets = ["q_proj", "v_proj"]
targets.append("o_proj")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), LoraConfig(r=8, target_modules=targets, modules_to_save=None))
