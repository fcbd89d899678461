"""A GradScaler that unscales the gradients of weights in float16: refused? Real, with the scaler of the CPU."""

import torch
from _common import Answer, fails_with, report


def ask() -> Answer:
    layer = torch.nn.Linear(2, 2).half()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(sum(p.sum() for p in layer.parameters())).backward()
    return fails_with("Attempting to unscale FP16 gradients", lambda: scaler.step(optimizer))


report(ask)
