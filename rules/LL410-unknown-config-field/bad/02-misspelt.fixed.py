"""The field is called target_modules."""
# fix: unsafe

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


def build():
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    return get_peft_model(model, LoraConfig(r=8, target_modules=["c_attn"], task_type="CAUSAL_LM"))  # LL410
