"""max_memory leaves the process its own GPU only."""
import os

import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

torch.distributed.init_process_group("nccl")
mine = {int(os.environ["LOCAL_RANK"]): "40GiB"}
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto", max_memory=mine)
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=TrainingArguments("out"), train_dataset=load_from_disk("tokenized")).train()
