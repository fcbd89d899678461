"""build() returns a wrapped model, and main() prepares what it gets."""
import argparse

import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig


def build(name, rank):
    quantized = AutoModelForCausalLM.from_pretrained(
        name,
        quantization_config=BitsAndBytesConfig(load_in_8bit=True),
        device_map={"": 0},
    )
    config = LoraConfig(r=rank, target_modules=["q_proj", "k_proj", "v_proj"], task_type="CAUSAL_LM")
    return get_peft_model(quantized, config), AutoTokenizer.from_pretrained(name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="mistralai/Mistral-7B-v0.1")
    parser.add_argument("--rank", type=int, default=8)
    args = parser.parse_args()
    model, tokenizer = build(args.model, args.rank)
    tokenizer.pad_token = tokenizer.unk_token
    prepare_model_for_kbit_training(model, use_gradient_checkpointing=True)  # LL202
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()
    lines = open("train.txt", encoding="utf-8").read().splitlines()
    for texts in DataLoader(lines, batch_size=2, shuffle=True, collate_fn=list):
        batch = tokenizer(texts, return_tensors="pt", padding=True).to(model.device)
        loss = model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
