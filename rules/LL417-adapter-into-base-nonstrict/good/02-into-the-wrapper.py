"""Fine: the same keys, for the model is wrapped before they are loaded."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

CONFIG = LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), CONFIG)
torch.save(model.state_dict(), "lora.pt")
again = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), CONFIG)
again.load_state_dict(torch.load("lora.pt"), strict=False)
