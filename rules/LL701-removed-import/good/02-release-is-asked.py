"""Which name is imported depends on the release that is installed."""

import transformers
from packaging import version

if version.parse(transformers.__version__) < version.parse("4.50"):
    from transformers import AdamW
else:
    from torch.optim import AdamW


def optimizer(model):
    return AdamW(model.parameters(), lr=1e-4)
