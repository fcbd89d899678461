"""Fine: bfloat16 needs no scaler."""
import torch
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.bfloat16)
Trainer(model=model, args=TrainingArguments("out", bf16=True), train_dataset=load_from_disk("rows")).train()
