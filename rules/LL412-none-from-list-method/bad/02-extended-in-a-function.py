"""The targets are extended in the call, and the field is None."""
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


def build(base, with_mlp=True):
    names = ["q_proj", "v_proj"]
    more = ["up_proj", "down_proj"]
    model = AutoModelForCausalLM.from_pretrained(base)
    return get_peft_model(model, LoraConfig(r=8, target_modules=names.extend(more), task_type="CAUSAL_LM"))  # LL412


build("Qwen/Qwen2.5-0.5B").print_trainable_parameters()
