"""Fine: a helper of the script walks through the batch and moves every tensor in it."""
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer


def send(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, dict):
        return {key: send(item, device) for key, item in value.items()}
    return type(value)(send(item, device) for item in value)


def collate(lines):
    batch = tokenizer(lines, padding=True, return_tensors="pt")
    return {"model": dict(batch), "labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}


tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
net = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to("cuda")
net = get_peft_model(net, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
net.train()
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4)
for batch in DataLoader(open("train.txt").read().splitlines(), batch_size=4, collate_fn=collate):
    batch = send(batch, "cuda")
    loss = net(**batch["model"], labels=batch["labels"]).loss
    loss.backward()
    opt.step()
    opt.zero_grad()
