"""Fine: the model has adapters, and PEFT's own function puts the weights into them."""
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from transformers import AutoModelForCausalLM

CONFIG = LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")


def build():
    return get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), CONFIG)


torch.save(get_peft_model_state_dict(build()), "lora.pt")
again = build()
set_peft_model_state_dict(again, torch.load("lora.pt"))
