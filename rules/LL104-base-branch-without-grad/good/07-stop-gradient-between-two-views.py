"""Fine: the stop-gradient of SimSiam; the module takes the data itself, nothing trainable lies below it."""
import torch
import torch.nn.functional as F
from torch import nn
from transformers import AutoModel


class TwoViews(nn.Module):
    def __init__(self, encoder, width):
        super().__init__()
        self.encoder = encoder
        self.predictor = nn.Linear(width, width)

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1).pooler_output, self.encoder(x2).pooler_output
        return -(F.cosine_similarity(self.predictor(z1), z2.detach()).mean() + F.cosine_similarity(self.predictor(z2), z1.detach()).mean())


net = TwoViews(AutoModel.from_pretrained("google/vit-base-patch16-224"), 768).cuda()
opt = torch.optim.AdamW(net.parameters(), lr=1e-5)
for left, right in torch.utils.data.DataLoader(torch.load("views.pt"), batch_size=8):
    net(left.cuda(), right.cuda()).backward()
    opt.step()
    opt.zero_grad()
