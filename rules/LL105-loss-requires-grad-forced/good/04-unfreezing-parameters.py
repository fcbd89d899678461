"""Fine: requires_grad is set on parameters that shall train, not on the loss."""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def unfreeze_last(model, count):
    model.requires_grad_(False)
    for layer in model.model.layers[-count:]:
        for parameter in layer.parameters():
            parameter.requires_grad = True
    model.lm_head.requires_grad_(True)


tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b").to("cuda")
unfreeze_last(model, 2)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)
model.train()
for line in open("train.txt", encoding="utf-8"):
    ids = tok(line, return_tensors="pt").input_ids.to("cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    opt.step()
    opt.zero_grad()
