"""Fine: the branch without gradients is taken in evaluation only."""
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer


class CachedLora(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        if not self.training:
            with torch.no_grad():
                return self.base(x) + self.up(self.down(x))
        return self.base(x) + self.up(self.down(x))


tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", torch_dtype=torch.float32).requires_grad_(False)
for layer in model.model.layers:
    layer.self_attn.v_proj = CachedLora(layer.self_attn.v_proj, 8)
model.to("cuda").train()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt", encoding="utf-8"):
    ids = tok(line, return_tensors="pt").input_ids.to("cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    opt.step()
    opt.zero_grad()
