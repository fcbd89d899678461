"""Makes lora_lint/triggers.json, by which triage goes: from the rules' NEEDS and from the words that the summaries declare.

usage: python scripts/update_triggers.py [--check]
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lora_lint import libraries, rules, triage
from lora_lint.libraries import registry

# Summaries of what every program has.
COMMON = ("lora_lint.libraries.python", "lora_lint.libraries.torch")


def table() -> dict[str, Any]:
    """The table as plain data. Raises ``KeyError`` for a kind that no summary declares."""
    handlers = [*registry.FUNCTIONS.items(), *((root, handler) for root, found in registry.PATTERNS.items() for _, handler in found)]
    models = {name.partition(".")[0] for name, handler in handlers if handler.__module__ not in COMMON} | set(libraries.LIBRARIES)
    models = models - {"python", "torch"} | {"sentence_transformers"}
    words = {kind: sorted(found) for kind, found in registry.WORDS.items()} | {kind: [f"@{kind}"] for kind in registry.HOOKS}
    words["library"] = [f"import {name}" for name in sorted(models)]
    needs = {}
    for code, info in rules.REGISTRY.items():
        module = importlib.import_module(f"lora_lint.rules.{info.module}")
        given = getattr(module, "NEEDS", None)
        if given is not None:
            needs[code] = [sorted({word for kind in kinds for word in words[kind]}) for kinds in given]
    hooks = {k: {"method": m, "not_data": list(d), "words": sorted(registry.WORDS[k])} for k, (m, d) in sorted(registry.HOOKS.items())}
    return {"triggers": sorted(word.decode() for word in libraries.triggers()), "rules": needs, "hooks": hooks}


def main() -> int:
    """Write the table, or with --check say whether it is as it should be."""
    text = json.dumps(table(), indent=1) + "\n"
    if "--check" in sys.argv[1:]:
        return int(triage.TABLE.read_text(encoding="utf-8") != text)
    triage.TABLE.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
