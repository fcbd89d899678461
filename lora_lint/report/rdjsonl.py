"""reviewdog's diagnostic format as JSON lines, one ``Diagnostic`` a line."""

from __future__ import annotations

import json

from lora_lint.report import Report
from lora_lint.report.rdjson import SOURCE, diagnostics


def render(report: Report) -> str:
    """One diagnostic a line; nothing when nothing was found."""
    return "".join(json.dumps({**diagnostic, "source": SOURCE}, ensure_ascii=True) + "\n" for diagnostic in diagnostics(report))
