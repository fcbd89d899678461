"""Fine: the adapter was made on the bare model too."""
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModel

BASE = "Qwen/Qwen2.5-0.5B"
model = get_peft_model(AutoModel.from_pretrained(BASE), LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
model.save_pretrained("out")
again = PeftModel.from_pretrained(AutoModel.from_pretrained(BASE), "out")
