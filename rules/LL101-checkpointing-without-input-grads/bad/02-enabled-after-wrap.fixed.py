"""A helper wraps the model, the loop then enables checkpointing on the wrapped model."""
# target: transformers==4.57.6 peft==0.18.1
import argparse

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer


def build(name, rank):
    base = AutoModelForCausalLM.from_pretrained(name)
    config = LoraConfig(r=rank, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], task_type="CAUSAL_LM")
    return get_peft_model(base, config), AutoTokenizer.from_pretrained(name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="mistralai/Mistral-7B-v0.1")
    parser.add_argument("--rank", type=int, default=8)
    args = parser.parse_args()

    model, tokenizer = build(args.model, args.rank)
    tokenizer.pad_token = tokenizer.unk_token
    model.to("cuda")
    model.gradient_checkpointing_enable()  # LL101
    model.enable_input_require_grads()
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4)
    with open("train.txt", encoding="utf-8") as lines:
        loader = DataLoader(lines.read().splitlines(), batch_size=2, shuffle=True, collate_fn=list)
    for texts in loader:
        batch = tokenizer(texts, return_tensors="pt", padding=True).to("cuda")
        loss = model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained("lora")


if __name__ == "__main__":
    main()
