"""GitLab's code quality report: https://docs.gitlab.com/ci/testing/code_quality/, "Code Quality report format"."""

from __future__ import annotations

import json
from typing import Any

from lora_lint.findings import Position, Severity
from lora_lint.report import Report
from lora_lint.report.entries import Entry, details, entries, line
from lora_lint.report.places import Sources, relative, root

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def render(report: Report) -> str:
    """The array; ``[]`` when nothing was found, since GitLab takes a missing report for an unknown state."""
    sources, base = Sources(report), root()
    return json.dumps([_issue(entry, sources, base) for entry in entries(report)], indent=2, ensure_ascii=True) + "\n"


def _issue(entry: Entry, sources: Sources, base: str) -> dict[str, Any]:
    finding = entry.finding
    span = sources.place(finding).file
    return {
        # GitLab shows no check_name.
        "description": f"{finding.code} {finding.name}: {line(' '.join(details(finding)))}",
        "check_name": finding.code,
        "fingerprint": entry.fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": relative(finding.path, base), "positions": {"begin": _position(span.start), "end": _position(span.end)}},
    }


def _position(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}
