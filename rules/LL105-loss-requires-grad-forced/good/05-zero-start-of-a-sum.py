"""Fine: the accumulator starts as a leaf that requires grad, and the attached losses are added to it."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def total_loss(model, batches):
    total = torch.tensor(0.0, device="cuda", requires_grad=True)
    for ids in batches:
        total = total + model(input_ids=ids, labels=ids).loss
    return total / len(batches)


tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")).to("cuda")
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
lines = open("train.txt", encoding="utf-8").read().splitlines()
model.train()
for start in range(0, len(lines), 4):
    batches = [tok(line, return_tensors="pt").input_ids.to("cuda") for line in lines[start : start + 4]]
    total_loss(model, batches).backward()
    opt.step()
    opt.zero_grad()
