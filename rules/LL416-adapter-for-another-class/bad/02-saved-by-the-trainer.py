"""The trainer saves, a function further down loads; the classes are named."""
import argparse

from peft import LoraConfig, PeftModel, TaskType, get_peft_model
from transformers import LlamaForCausalLM, LlamaModel, Trainer, TrainingArguments


def fit(args, rows):
    model = LlamaForCausalLM.from_pretrained(args.base)
    model = get_peft_model(model, LoraConfig(r=8, task_type=TaskType.CAUSAL_LM))
    trainer = Trainer(model=model, args=TrainingArguments("runs"), train_dataset=rows)
    trainer.train()
    trainer.save_model(args.adapter)


def encoder(args):
    model = LlamaModel.from_pretrained(args.base)
    return PeftModel.from_pretrained(model, args.adapter)  # LL416


def main(rows):
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("adapter")
    args = parser.parse_args()
    fit(args, rows)
    encoder(args).save_pretrained("copy")
