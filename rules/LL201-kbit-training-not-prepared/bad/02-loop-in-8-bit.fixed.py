"""An 8-bit base in a plain loop without checkpointing: it trains, but the norms and the output head stay in half precision."""
import argparse

import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig


def load_base(name):
    return AutoModelForCausalLM.from_pretrained(
        name,
        quantization_config=BitsAndBytesConfig(load_in_8bit=True),
        torch_dtype=torch.float16,
        device_map={"": 0},
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="huggyllama/llama-7b")
    parser.add_argument("--lr", type=float, default=2e-4)
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    tokenizer.pad_token = tokenizer.unk_token
    base = load_base(args.model)
    base = prepare_model_for_kbit_training(base)
    peft_model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))  # LL201
    optimizer = torch.optim.AdamW([p for p in peft_model.parameters() if p.requires_grad], lr=args.lr)
    peft_model.train()
    lines = open("train.txt", encoding="utf-8").read().splitlines()
    for texts in DataLoader(lines, batch_size=4, shuffle=True, collate_fn=list):
        batch = tokenizer(texts, return_tensors="pt", padding=True).to(peft_model.device)
        loss = peft_model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    peft_model.save_pretrained("lora-8bit")


if __name__ == "__main__":
    main()
