"""Fine: lists are passed."""
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification

targets = ["q_proj", "v_proj"]
config = LoraConfig(r=8, target_modules=targets, modules_to_save=["score"], task_type="SEQ_CLS")
model = get_peft_model(AutoModelForSequenceClassification.from_pretrained("Qwen/Qwen2.5-0.5B"), config)
