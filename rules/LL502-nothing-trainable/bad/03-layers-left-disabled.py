"""The adapter is switched off for a baseline and never switched on again before the training."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def baseline(model, tokenizer, lines):
    model.eval()
    model.disable_adapter_layers()  # LL502
    with torch.no_grad():
        batches = [tokenizer(line, return_tensors="pt").to("cuda") for line in lines]
        return sum(model(**b, labels=b["input_ids"]).loss.item() for b in batches) / len(batches)


def train(model, tokenizer, lines):
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for line in lines:
        batch = tokenizer(line, return_tensors="pt").to("cuda")
        loss = model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
    model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to("cuda")
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    lines = open("train.txt").read().splitlines()
    print(baseline(model, tokenizer, lines[:4]))
    train(model, tokenizer, lines)
