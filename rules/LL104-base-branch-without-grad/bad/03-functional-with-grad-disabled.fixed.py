"""The frozen weight is applied with F.linear while gradients are switched off."""
import argparse

import torch
import torch.nn.functional as F
from torch.nn import Module, Parameter
from transformers import AutoModelForCausalLM, AutoTokenizer


class Update(Module):
    def __init__(self, linear, rank):
        super().__init__()
        self.register_buffer("weight", linear.weight.detach())
        self.a = Parameter(torch.randn(rank, linear.in_features) / rank)
        self.b = Parameter(torch.zeros(linear.out_features, rank))

    def frozen(self, x):
        return F.linear(x, self.weight)

    def forward(self, x):
        return self.frozen(x) + F.linear(F.linear(x, self.a), self.b)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, default=4)
    args = parser.parse_args()
    tok = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-v0.1")
    model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", torch_dtype=torch.float32)
    for p in model.parameters():
        p.requires_grad = False
    for layer in model.model.layers:
        layer.mlp.down_proj = Update(layer.mlp.down_proj, args.rank)
    model = model.cuda()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4)
    model.train()
    for line in open("train.txt", encoding="utf-8"):
        batch = tok(line, return_tensors="pt").to("cuda")
        loss = model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


main()
