"""LL702: a keyword that a function, class or method does not take on the target's releases."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.findings import Finding
from lora_lint.rule import Context
from lora_lint.rules import _drift

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask the history about each keyword of each call; the configurations of adapters are LL410's."""
    yield from _drift.unknown_keywords(ctx, lambda world, function: not _drift.is_adapter_config(world, function))
