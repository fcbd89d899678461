"""Fine: nn.DataParallel scatters the batch over the GPUs, from wherever it is."""
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer


def parallel(name):
    model = AutoModelForCausalLM.from_pretrained(name)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    return nn.DataParallel(model).cuda()


def main(name="Qwen/Qwen2.5-0.5B", size=8):
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = parallel(name)
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    lines = open("train.txt").read().splitlines()
    for start in range(0, len(lines), size):
        batch = tokenizer(lines[start : start + size], padding=True, return_tensors="pt")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss.mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
