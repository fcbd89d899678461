"""Fine: the base is not quantized, bfloat16 weights need no preparation."""
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator

model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", torch_dtype=torch.bfloat16)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments("out", bf16=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
