"""The rules: one module each, named like its folder under the top-level ``rules/``."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lora_lint.rule import Context, RuleInfo

if TYPE_CHECKING:
    from lora_lint.edits import Editor
    from lora_lint.findings import Finding
    from lora_lint.recipe.machine import Recipe
    from lora_lint.target import Target


def _registry() -> Iterator[RuleInfo]:
    for path in sorted(Path(__file__).parent.glob("ll*.py")):
        match = re.fullmatch(r"(ll\d+)_(\w+)", path.stem)
        if match:
            yield RuleInfo(match[1].upper(), match[2].replace("_", "-"), path.stem)


REGISTRY: dict[str, RuleInfo] = {info.code: info for info in _registry()}


def run(recipe: Recipe, target: Target, codes: frozenset[str]) -> list[Finding]:
    """All findings of the chosen rules on one recipe, in the order of the file; each place is reported once a rule."""
    found: dict[tuple[object, ...], Finding] = {}
    shared: dict[str, Editor] = {}
    for code in sorted(codes & REGISTRY.keys()):
        info = REGISTRY[code]
        check = importlib.import_module(f"lora_lint.rules.{info.module}").check
        for finding in check(Context(recipe, target, info, shared)):
            if finding is None:
                continue
            key = (finding.code, finding.span)
            known = found.get(key)
            if known is None or known.severity < finding.severity:
                found[key] = finding
    return sorted(found.values(), key=lambda f: (f.span.start, f.code))
