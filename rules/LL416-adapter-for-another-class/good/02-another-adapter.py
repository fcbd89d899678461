"""Fine: the bare model gets an adapter that was made elsewhere."""
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModel, AutoModelForCausalLM, Trainer, TrainingArguments

BASE = "Qwen/Qwen2.5-0.5B"
model = get_peft_model(AutoModelForCausalLM.from_pretrained(BASE), LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
Trainer(model=model, args=TrainingArguments("runs")).train()
model.save_pretrained("out/generator")
encoder = PeftModel.from_pretrained(AutoModel.from_pretrained(BASE), "out/encoder")
