"""Fine: DoRA detaches the norm of the weights, which does not depend on the input; both branches of x stay attached."""
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer


class DoraLinear(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / rank)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.magnitude = nn.Parameter(base.weight.norm(dim=1).detach())

    def forward(self, x):
        norm = (self.base.weight + self.b @ self.a).norm(dim=1).detach()
        scale = self.magnitude / norm
        return scale * (self.base(x) + x @ self.a.T @ self.b.T)


tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", torch_dtype=torch.float32).requires_grad_(False)
for layer in model.model.layers:
    layer.self_attn.q_proj = DoraLinear(layer.self_attn.q_proj, 8)
model.to("cuda").train()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt", encoding="utf-8"):
    ids = tok(line, return_tensors="pt").input_ids.to("cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    opt.step()
    opt.zero_grad()
