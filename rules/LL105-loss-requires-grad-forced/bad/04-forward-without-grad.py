"""The forward ran under no_grad; the assignment to requires_grad only hides the crash."""
import argparse

import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer


def forward(model, batch):
    with torch.no_grad():
        return model(**batch, labels=batch["input_ids"])  # LL103


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="huggyllama/llama-7b")
    args = parser.parse_args()
    accelerator = Accelerator()
    tok = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model)
    model = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    lines = open("train.txt", encoding="utf-8").read().splitlines()
    loader = DataLoader(lines, batch_size=1, collate_fn=lambda texts: tok(texts, return_tensors="pt"))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    model.train()
    for batch in loader:
        loss = forward(model, batch).loss
        loss.requires_grad = True  # LL105
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


main()
