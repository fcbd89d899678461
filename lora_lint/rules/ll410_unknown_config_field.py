"""LL410: a keyword that is no field of an adapter's configuration on the target's releases."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.findings import Finding
from lora_lint.rule import Context
from lora_lint.rules import _drift

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask the history about each field of each configuration of an adapter."""
    yield from _drift.unknown_keywords(ctx, _drift.is_adapter_config)
