"""A loader compiles behind an option, the caller attaches the adapters."""
import argparse

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def load(args):
    model = AutoModelForCausalLM.from_pretrained(args.base)
    if args.compile:
        model = torch.compile(model, mode="reduce-overhead")
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", default="Qwen/Qwen2.5-0.5B")
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    model = get_peft_model(load(args), LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))  # LL415
    trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=torch.load("rows.pt"))
    trainer.train()


main()
