"""Fine: the stored config only tells which base to load; the adapter itself is loaded as trainable."""
import argparse

import torch
from peft import PeftConfig, PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer


def reopen(path):
    config = PeftConfig.from_pretrained(path)
    base = AutoModelForCausalLM.from_pretrained(config.base_model_name_or_path, torch_dtype=torch.bfloat16)
    return PeftModel.from_pretrained(base, path, is_trainable=True), AutoTokenizer.from_pretrained(config.base_model_name_or_path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--adapter", default="runs/first")
    model, tokenizer = reopen(parser.parse_args().adapter)
    model.to("cuda").train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for line in open("train.txt"):
        batch = tokenizer(line.strip(), return_tensors="pt").to("cuda")
        loss = model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
