"""Fine: the base's weights are frozen, but its forward is recorded, so the gradient of the input is whole."""
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer


class LoraLinear(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        with torch.no_grad():
            self.up.weight.zero_()

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))

    @torch.no_grad()
    def merge(self):
        self.base.weight.add_(self.up.weight @ self.down.weight)
        return self.base


tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", torch_dtype=torch.float32).requires_grad_(False)
for layer in model.model.layers:
    layer.self_attn.q_proj = LoraLinear(layer.self_attn.q_proj, 8)
model.to("cuda").train()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt", encoding="utf-8"):
    ids = tok(line, return_tensors="pt").input_ids.to("cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    opt.step()
    opt.zero_grad()
for layer in model.model.layers:
    layer.self_attn.q_proj = layer.self_attn.q_proj.merge()
