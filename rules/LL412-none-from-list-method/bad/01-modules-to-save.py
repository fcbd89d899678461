"""append() returns None: no module is saved, and the head's name stands among the targets."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

targets = ["q_proj", "v_proj"]
model = AutoModelForSequenceClassification.from_pretrained("Qwen/Qwen2.5-0.5B", num_labels=2)
config = LoraConfig(
    r=8,
    target_modules=targets,
    modules_to_save=targets.append("score"),  # LL412
    task_type="SEQ_CLS",
)
model = get_peft_model(model, config)
Trainer(model=model, args=TrainingArguments("out"), train_dataset=torch.load("rows.pt")).train()
