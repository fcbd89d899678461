"""Fine: is_trainable is computed, and true whenever the script trains."""
import argparse

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--eval_only", action="store_true")
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
    base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
    model = PeftModel.from_pretrained(base, "runs/first", is_trainable=not args.eval_only).to("cuda")
    lines = open("train.txt").read().splitlines()
    if not args.eval_only:
        model.train()
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
        for line in lines:
            batch = tokenizer(line, return_tensors="pt").to("cuda")
            model(**batch, labels=batch["input_ids"]).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        batch = tokenizer(lines[0], return_tensors="pt").to("cuda")
        print(model(**batch, labels=batch["input_ids"]).loss.item())


if __name__ == "__main__":
    main()
