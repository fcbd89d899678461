"""The losses of the micro-batches are collected into a fresh tensor, which copies the numbers and drops the graphs."""
import torch
import typer
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def train(name: str = "huggyllama/llama-7b", chunk: int = 4, lr: float = 1e-4):
    tok = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name)
    model = get_peft_model(model, LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM")).to("cuda")
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    lines = open("train.txt", encoding="utf-8").read().splitlines()
    model.train()
    for start in range(0, len(lines), chunk):
        losses = []
        for text in lines[start : start + chunk]:
            ids = tok(text, return_tensors="pt").input_ids.to("cuda")
            losses.append(model(input_ids=ids, labels=ids).loss)
        total = torch.tensor(losses).mean()  # LL102
        total.backward()
        opt.step()
        opt.zero_grad()
    model.save_pretrained("lora")


if __name__ == "__main__":
    typer.run(train)
