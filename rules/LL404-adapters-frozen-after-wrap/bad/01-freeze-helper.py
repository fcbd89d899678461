"""A helper that is meant for the base gets the wrapped model, adapters included."""
import argparse

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def freeze(module):
    for parameter in module.parameters():
        parameter.requires_grad = False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="Qwen/Qwen2.5-0.5B")
    parser.add_argument("--lr", type=float, default=1e-4)
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model).to("cuda")
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    freeze(model)  # LL404
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for line in open("train.txt"):
        batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
        loss = model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained("frozen")


if __name__ == "__main__":
    main()
