"""Fine: mixed precision casts the weights of a float32 model itself."""
import torch
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.float32)
Trainer(model=model, args=TrainingArguments("out", fp16=True), train_dataset=load_from_disk("rows")).train()
