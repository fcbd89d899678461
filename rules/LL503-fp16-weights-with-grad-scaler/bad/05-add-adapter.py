"""transformers' own add_adapter keeps the type of the base on every release."""
import torch
from datasets import load_from_disk
from peft import LoraConfig
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to(torch.float16)
model.add_adapter(LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
args = TrainingArguments("out", fp16=True)  # LL503
Trainer(model=model, args=args, train_dataset=load_from_disk("rows")).train()
