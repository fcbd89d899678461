"""The adapters sit in the backbone, which runs under no_grad; the head above it trains, so nothing crashes."""
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.utils.data import DataLoader
from transformers import AutoModel, AutoTokenizer


class Classifier(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(backbone.config.hidden_size, classes)

    def forward(self, enc):
        hidden = self.backbone(**enc).last_hidden_state  # LL103
        return self.head(hidden[:, 0])


def main():
    tok = AutoTokenizer.from_pretrained("roberta-base")
    backbone = AutoModel.from_pretrained("roberta-base")
    backbone = get_peft_model(backbone, LoraConfig(r=8, target_modules=["query", "value"]))
    net = Classifier(backbone, 4).to("cuda")
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4)
    rows = [line.rstrip("\n").split("\t") for line in open("news.tsv", encoding="utf-8")]
    net.train()
    for part in DataLoader(rows, batch_size=16, shuffle=True, collate_fn=list):
        enc = tok([text for text, _ in part], return_tensors="pt", padding=True, truncation=True).to("cuda")
        target = torch.tensor([int(label) for _, label in part]).to("cuda")
        loss = nn.functional.cross_entropy(net(enc), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    net.backbone.save_pretrained("news-lora")


main()
