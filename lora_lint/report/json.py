"""A JSON array with ruff's field names, plus the dataflow, the versions, the failure and the condition.

Rows and columns are 1-based, columns count code points, ends are exclusive.
"""

from __future__ import annotations

import json
import os
from typing import Any

from lora_lint.findings import Finding, Position, Span
from lora_lint.report import Report
from lora_lint.source import Source


def render(report: Report) -> str:
    """The array; ``[]`` when nothing was found."""
    items = [_finding(finding, file.source) for file in report.files for finding in file.findings]
    return json.dumps(items, indent=2, ensure_ascii=True) + "\n"


def _finding(finding: Finding, source: Source | None) -> dict[str, Any]:
    fix = None
    if finding.fix is not None:
        edits = []
        for edit in finding.fix.edits if source else ():
            assert source is not None
            span = Span(source.position(edit.start), source.position(edit.end))
            edits.append({"content": edit.text, **_span(span)})
        fix = {"applicability": finding.fix.applicability.value, "message": finding.fix.title, "edits": edits}
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "filename": os.path.abspath(finding.path),
        **_span(finding.span),
        "fix": fix,
        "url": None,
        "failure": finding.failure,
        "versions": finding.versions,
        "condition": finding.condition,
        "help": finding.help,
        "flow": [{"filename": os.path.abspath(step.path), "message": step.message, **_span(step.span)} for step in finding.flow],
    }


def _span(span: Span) -> dict[str, Any]:
    return {"location": _position(span.start), "end_location": _position(span.end)}


def _position(position: Position) -> dict[str, int]:
    return {"row": position.line, "column": position.column}
