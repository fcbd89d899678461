"""Evaluation comes once, after all training."""

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
import torch

model = AutoModelForCausalLM.from_pretrained("org/model")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.1))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

model.train()
for batch in torch.load("batches.pt"):
    model(**batch).loss.backward()
    optimizer.step()
model.eval()
