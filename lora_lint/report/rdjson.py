"""reviewdog's diagnostic format: https://github.com/reviewdog/reviewdog/tree/master/proto/rdf.

Columns count bytes of UTF-8, ends are exclusive, paths are relative to the working folder, as reviewdog expects.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from lora_lint.findings import Finding, Position, Severity, Span, Step
from lora_lint.report import Report
from lora_lint.report.entries import Entry, details, entries, offered
from lora_lint.report.places import Sources, Unit, relative, whole_lines

SOURCE = {"name": "lora-lint"}
_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}
# A fix that spans more lines than this is no longer a suggestion that fits beside its line.
_LINES = 20


def render(report: Report) -> str:
    """One ``DiagnosticResult``."""
    return json.dumps({"source": SOURCE, "diagnostics": list(diagnostics(report))}, indent=2, ensure_ascii=True) + "\n"


def diagnostics(report: Report) -> Iterator[dict[str, Any]]:
    """A ``Diagnostic`` for each finding."""
    sources = Sources(report)
    return (_diagnostic(entry, report, sources) for entry in entries(report))


def _diagnostic(entry: Entry, report: Report, sources: Sources) -> dict[str, Any]:
    finding = entry.finding
    diagnostic: dict[str, Any] = {
        "message": "\n".join((f"{finding.name}: {finding.message}", *details(finding)[1:])),
        "location": _location(finding, sources),
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code},
    }
    if suggestion := _suggestion(entry, report):
        diagnostic["suggestions"] = [suggestion]
    if finding.flow:
        diagnostic["related_locations"] = [{"message": step.message, "location": _location(step, sources)} for step in finding.flow]
    return diagnostic


def _suggestion(entry: Entry, report: Report) -> dict[str, Any] | None:
    """The fix as whole lines, which is what a review can apply; one that cannot be told at once is left out, since its half would do harm."""
    fix = offered(entry, report)
    lines = whole_lines(fix, entry.source, _LINES) if fix and entry.source else None
    return None if lines is None else {"range": {"start": {"line": lines.first}, "end": {"line": lines.last}}, "text": lines.text}


def _location(at: Finding | Step, sources: Sources) -> dict[str, Any]:
    return {"path": relative(at.path, os.getcwd()), "range": _range(sources.place(at, Unit.UTF_8).file)}


def _range(span: Span) -> dict[str, Any]:
    return {"start": _position(span.start), "end": _position(span.end)}


def _position(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}
