"""Fine: the keys are renamed by hand first."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj"], modules_to_save=["lm_head"], task_type="CAUSAL_LM"))
torch.save(model.state_dict(), "all.pt")
again = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
state = {k.replace("base_model.model.", ""): v for k, v in torch.load("all.pt").items()}
again.load_state_dict(state, strict=False)
