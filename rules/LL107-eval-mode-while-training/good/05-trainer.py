"""A trainer sets the mode itself."""

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
import torch

model = AutoModelForCausalLM.from_pretrained("org/model")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.1))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

from transformers import Trainer, TrainingArguments

model.eval()
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=torch.load("rows.pt"))
for epoch in range(2):
    trainer.train()
    model.eval()
