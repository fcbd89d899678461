"""The import is for type checkers and never runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import TextDataset


def size(dataset: TextDataset) -> int:
    return len(dataset)
