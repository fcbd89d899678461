"""Fine: DeepSpeed keeps float32 copies and has a scaler of its own."""
import torch
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.float16)
args = TrainingArguments("out", fp16=True, deepspeed="zero2.json")
Trainer(model=model, args=args, train_dataset=load_from_disk("rows")).train()
