"""Fine: adapters on the bare model inside the causal one, loaded onto the bare model."""
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModel, AutoModelForCausalLM

BASE = "Qwen/Qwen2.5-0.5B"
whole = AutoModelForCausalLM.from_pretrained(BASE)
inner = get_peft_model(whole.model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
inner.save_pretrained("out")
again = PeftModel.from_pretrained(AutoModel.from_pretrained(BASE), "out")
