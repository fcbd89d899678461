"""Runs with and without a launcher; which one is meant, nobody says."""
import os

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

try:
    rank = int(os.environ["RANK"])
except KeyError:
    rank = 0

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
if rank == 0:
    model.print_trainable_parameters()
Trainer(model=model, args=TrainingArguments("out"), train_dataset=load_from_disk("tokenized")).train()
