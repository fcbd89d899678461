"""A JSON array with ruff's field names, plus the dataflow, the versions, the failure, the condition and the fingerprint.

Rows and columns are 1-based, columns count code points, ends are exclusive. All locations are in the file itself; for a notebook, ``cell`` is
the number of the code cell and ``cell_location`` the place in there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from lora_lint.findings import Finding, Position, Span, Step, Verification
from lora_lint.report import Report
from lora_lint.report.entries import Entry, entries
from lora_lint.report.places import Sources, replacements


def render(report: Report) -> str:
    """The array; ``[]`` when nothing was found."""
    return json.dumps(list(items(report)), indent=2, ensure_ascii=True) + "\n"


def items(report: Report) -> Iterator[dict[str, Any]]:
    """The findings as objects."""
    sources = Sources(report)
    return (_finding(entry, sources) for entry in entries(report))


def _finding(entry: Entry, sources: Sources) -> dict[str, Any]:
    finding = entry.finding
    fix = None
    if finding.fix is not None:
        made = replacements(finding.fix, entry.source) if entry.source else []
        edits = [{"content": one.text, **_span(one.span)} for one in made]
        fix = {"applicability": finding.fix.applicability.value, "message": finding.fix.title, "edits": edits}
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        **_place(finding, sources),
        "fix": fix,
        "url": None,
        "fingerprint": entry.fingerprint,
        "failure": finding.failure,
        "versions": finding.versions,
        "condition": finding.condition,
        "help": finding.help,
        "flow": [{"message": step.message, **_place(step, sources)} for step in finding.flow],
        **({"verification": _verification(finding.verification)} if finding.verification else {}),
    }


def _verification(made: Verification) -> dict[str, Any]:
    return {"verdict": made.verdict.value, "evidence": made.evidence, "versions": dict(made.versions), "device": made.device}


def _place(at: Finding | Step, sources: Sources) -> dict[str, Any]:
    place = sources.place(at)
    in_cell = None if place.cell is None else _position(place.shown.start)
    return {"filename": os.path.abspath(at.path), **_span(place.file), "cell": place.cell, "cell_location": in_cell}


def _span(span: Span) -> dict[str, Any]:
    return {"location": _position(span.start), "end_location": _position(span.end)}


def _position(position: Position) -> dict[str, int]:
    return {"row": position.line, "column": position.column}
