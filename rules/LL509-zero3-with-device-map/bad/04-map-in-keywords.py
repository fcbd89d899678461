"""The keywords of the loader are collected first; the stage is 3 where offloading is asked for."""
import argparse

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

cli = argparse.ArgumentParser()
cli.add_argument("--model", default="gpt2")
cli.add_argument("--offload", action="store_true")
opt = cli.parse_args()

section = {"stage": 2}
if opt.offload:
    section = {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True, "offload_param": {"device": "cpu"}}
args = TrainingArguments("out", deepspeed={"zero_optimization": section, "train_batch_size": "auto"})

loading = dict(torch_dtype=torch.bfloat16, device_map={"": 0})  # LL509
model = AutoModelForCausalLM.from_pretrained(opt.model, **loading)
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=args, train_dataset=torch.load("train.pt")).train()
