"""A decorated helper computes the loss both for evaluation and for training."""
import argparse

import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from torch import no_grad
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer


def batch_loss(model, batch):
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return model(**batch, labels=labels).loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="huggyllama/llama-7b")
    args = parser.parse_args()
    accelerator = Accelerator()
    tokenizer = AutoTokenizer.from_pretrained(args.name)
    tokenizer.pad_token = tokenizer.unk_token
    model = AutoModelForCausalLM.from_pretrained(args.name)
    model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    lines = open("train.txt", encoding="utf-8").read().splitlines()
    loader = DataLoader(lines, batch_size=4, collate_fn=lambda texts: tokenizer(texts, return_tensors="pt", padding=True))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for batch in loader:
        loss = batch_loss(model, batch)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
