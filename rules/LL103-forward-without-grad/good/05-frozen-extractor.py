"""Fine: the encoder is frozen and holds no adapters; only the projection above it is trained."""
import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer


class Probe(nn.Module):
    def __init__(self, name, classes):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(name)
        self.encoder.requires_grad_(False)
        self.head = nn.Sequential(nn.Linear(self.encoder.config.hidden_size, 256), nn.GELU(), nn.Linear(256, classes))

    def forward(self, enc):
        with torch.no_grad():
            hidden = self.encoder(**enc).last_hidden_state[:, 0]
        return self.head(hidden)


tok = AutoTokenizer.from_pretrained("bert-base-uncased")
net = Probe("bert-base-uncased", 2).to("cuda")
opt = torch.optim.AdamW(net.head.parameters(), lr=1e-3)
net.train()
for row in open("rows.tsv", encoding="utf-8"):
    text, label = row.rstrip("\n").split("\t")
    enc = tok(text, return_tensors="pt").to("cuda")
    loss = nn.functional.cross_entropy(net(enc), torch.tensor([int(label)], device="cuda"))
    loss.backward()
    opt.step()
    opt.zero_grad()
