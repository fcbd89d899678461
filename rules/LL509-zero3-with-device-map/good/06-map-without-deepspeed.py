"""The map is for runs without DeepSpeed only."""
import argparse

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

cli = argparse.ArgumentParser()
cli.add_argument("--use-deepspeed", action="store_true")
opt = cli.parse_args()
ds = {"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True}, "train_batch_size": "auto"}
args = TrainingArguments("out", deepspeed=ds if opt.use_deepspeed else None)
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map=None if opt.use_deepspeed else "auto")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
