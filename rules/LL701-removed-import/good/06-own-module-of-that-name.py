"""The name comes from a module of the project."""

from .optimization import AdamW


def optimizer(parameters):
    return AdamW(parameters, lr=1e-4, weight_decay=0.0)
