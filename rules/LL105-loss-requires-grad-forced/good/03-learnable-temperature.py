"""Fine: the tensor made with requires_grad=True is a parameter of the loss, and the optimizer has it."""
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import AutoModel, AutoTokenizer

tok = AutoTokenizer.from_pretrained("bert-base-uncased")
encoder = AutoModel.from_pretrained("bert-base-uncased")
encoder = get_peft_model(encoder, LoraConfig(r=8, target_modules=["query", "value"])).to("cuda")
log_scale = torch.tensor(2.6, device="cuda", requires_grad=True)
opt = torch.optim.AdamW([p for p in encoder.parameters() if p.requires_grad] + [log_scale], lr=1e-4)
rows = [row.rstrip("\n").split("\t") for row in open("pairs.tsv", encoding="utf-8")]


def embed(texts):
    enc = tok(list(texts), return_tensors="pt", padding=True).to("cuda")
    return F.normalize(encoder(**enc).last_hidden_state[:, 0], dim=-1)


encoder.train()
for start in range(0, len(rows), 16):
    left, right = zip(*rows[start : start + 16])
    logits = embed(left) @ embed(right).T * log_scale.exp()
    loss = F.cross_entropy(logits, torch.arange(len(left), device="cuda"))
    loss.backward()
    opt.step()
    opt.zero_grad()
