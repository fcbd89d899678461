"""Fine: the base branch runs under no_grad only in evaluation."""
import torch
from torch import nn


class Adapter(nn.Module):
    def __init__(self, base, width):
        super().__init__()
        self.base = base
        self.delta = nn.Linear(width, width)

    def forward(self, x):
        if self.training:
            y = self.base(x)
        else:
            with torch.no_grad():
                y = self.base(x)
        return y + self.delta(x)
