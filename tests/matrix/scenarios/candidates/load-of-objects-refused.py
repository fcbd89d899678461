"""torch.load() of a file that holds a whole module: refused by default? Nothing is emulated."""

import tempfile

import torch
from _common import Answer, fails_with, report


def ask() -> Answer:
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        torch.save(torch.nn.Linear(2, 2), file.name)
        return fails_with("Weights only load failed", lambda: torch.load(file.name))


report(ask)
