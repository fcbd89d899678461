"""Fine: the frozen vision tower reads pixels, and nothing that trains lies below it."""
import torch
from torch import nn
from transformers import AutoModel


class Captioner(nn.Module):
    def __init__(self, tower, classes=1000):
        super().__init__()
        width = tower.config.hidden_size
        self.tower = tower.requires_grad_(False)
        self.resampler = nn.Conv2d(3, width, kernel_size=16, stride=16)
        self.head = nn.Linear(width, classes)

    def forward(self, pixels):
        with torch.no_grad():
            features = self.tower(pixel_values=pixels).last_hidden_state[:, 1:].mean(1)
        patches = self.resampler(pixels).flatten(2).mean(-1)
        return self.head(features + patches)


net = Captioner(AutoModel.from_pretrained("google/vit-base-patch16-224")).to("cuda")
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-3)
net.train()
for pixels, target in torch.load("batches.pt", weights_only=True):
    loss = nn.functional.cross_entropy(net(pixels.to("cuda")), target.to("cuda"))
    loss.backward()
    opt.step()
    opt.zero_grad()
