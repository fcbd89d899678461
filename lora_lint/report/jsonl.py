"""JSON lines: the objects of the format json, one a line."""

from __future__ import annotations

import json

from lora_lint.report import Report
from lora_lint.report.json import items


def render(report: Report) -> str:
    """One object a line; nothing when nothing was found."""
    return "".join(json.dumps(item, ensure_ascii=True) + "\n" for item in items(report))
