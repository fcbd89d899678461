"""The scores make a round trip through numpy for a rank transform, and come back without a graph."""
import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModel, AutoTokenizer


def normalised(scores):
    values = scores.detach().cpu().numpy()  # LL102
    values = (values - values.mean()) / (np.std(values) + 1e-6)
    return torch.from_numpy(values).to(scores.device)


def main():
    tok = AutoTokenizer.from_pretrained("bert-base-uncased")
    encoder = AutoModel.from_pretrained("bert-base-uncased")
    encoder = get_peft_model(encoder, LoraConfig(r=8, target_modules=["query", "value"])).to("cuda")
    optimizer = torch.optim.AdamW([p for p in encoder.parameters() if p.requires_grad], lr=2e-5)
    pairs = [row.rstrip("\n").split("\t") for row in open("pairs.tsv", encoding="utf-8")]
    encoder.train()
    for start in range(0, len(pairs), 8):
        queries, answers = zip(*pairs[start : start + 8])
        q = encoder(**tok(list(queries), return_tensors="pt", padding=True).to("cuda")).last_hidden_state[:, 0]
        a = encoder(**tok(list(answers), return_tensors="pt", padding=True).to("cuda")).last_hidden_state[:, 0]
        logits = normalised(q @ a.T)
        loss = torch.nn.functional.cross_entropy(logits, torch.arange(len(queries), device=logits.device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    encoder.save_pretrained("retriever")


main()
