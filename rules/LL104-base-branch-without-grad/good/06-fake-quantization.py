"""Fine: rounding with a straight-through gradient detaches the rounding error, and the input itself stays attached."""
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer


class QatLora(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def fake_quant(self, x):
        step = x.detach().abs().amax() / 127
        return x + (torch.round(x / step) * step - x).detach()

    def forward(self, x):
        q = self.fake_quant(x)
        return self.base(q) + self.up(self.down(q))


tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", torch_dtype=torch.float32).requires_grad_(False)
for layer in model.model.layers:
    layer.mlp.up_proj = QatLora(layer.mlp.up_proj, 8)
model.to("cuda").train()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt", encoding="utf-8"):
    ids = tok(line, return_tensors="pt").input_ids.to("cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    opt.step()
    opt.zero_grad()
