"""A stored config says inference_mode, and get_peft_model() makes a fresh, frozen adapter from it: nothing is loaded."""
import argparse

import torch
from peft import PeftConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def continue_from(path):
    config = PeftConfig.from_pretrained(path)
    base = AutoModelForCausalLM.from_pretrained(config.base_model_name_or_path, torch_dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(config.base_model_name_or_path)
    return get_peft_model(base, config), tokenizer  # LL403


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--adapter", default="runs/first")
    parser.add_argument("--lr", type=float, default=1e-4)
    args = parser.parse_args()
    model, tokenizer = continue_from(args.adapter)
    model.to("cuda").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for line in open("train.txt"):
        batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
        loss = model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained("runs/second")


if __name__ == "__main__":
    main()
