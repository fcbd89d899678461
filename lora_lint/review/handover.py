"""The report that a run without the right to comment leaves for one that has it, and what that one believes of it.

The first run lints a fork's pull request and may only read; anybody who can open a pull request decides what it writes. So the second run takes from
the report which rule speaks of which line, and nothing else: rules must be ours, files and lines must be in the diff as the forge gives it, texts are
the rules' own, there are no suggestions, and the pull request is the one that the forge knows for the commit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lora_lint import codes, pages
from lora_lint.findings import Finding, Position, Severity, Span
from lora_lint.report.entries import Entry
from lora_lint.report.places import place
from lora_lint.review.diff import Lines
from lora_lint.review.http import ForgeError

_FORMAT = 1
_LARGEST = 4 * 1024 * 1024  # bytes
_MOST = 500  # findings


def write(path: Path, head: str, found: Sequence[Entry]) -> None:
    """Leave a report. Raises ``OSError``."""
    rows = []
    for entry in found:
        span = place(entry.finding, entry.source).file
        rows.append({
            "code": entry.finding.code,
            "severity": entry.finding.severity.value,
            "path": entry.finding.path,
            "line": span.start.line,
            "end_line": span.end.line,
            "fingerprint": entry.fingerprint,
        })  # fmt: skip
    path.write_text(json.dumps({"format": _FORMAT, "head": head, "findings": rows}, indent=1) + "\n", encoding="utf-8", newline="\n")


def read(path: Path, head: str, shown: Mapping[str, Lines]) -> list[Entry]:
    """What can be believed of a report about the commit ``head``. Raises ``ForgeError`` where it is not a report about that commit."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ForgeError(f"{path}: larger than a report can be")
        report: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ForgeError(f"{path}: cannot read the report: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(report, dict) or report.get("format") != _FORMAT or not isinstance(report.get("findings"), list):
        raise ForgeError(f"{path}: not a report of `lora-lint review --write`")
    if report.get("head") != head:
        raise ForgeError(f"{path}: the report is about another commit than the pull request's head {head[:12]}")
    believed = (_believed(row, shown) for row in report["findings"][:_MOST])
    return [entry for entry in believed if entry is not None]


def _believed(row: Any, shown: Mapping[str, Lines]) -> Entry | None:
    if not isinstance(row, dict):
        return None
    code, path, fingerprint = (str(row.get(key)) for key in ("code", "path", "fingerprint"))
    first, last = row.get("line"), row.get("end_line")
    if code not in codes.names() or path not in shown or type(first) is not int or type(last) is not int:
        return None
    if not re.fullmatch(r"[0-9a-f]{32}", fingerprint) or shown[path].first_added(first, last) is None:
        return None
    try:
        severity = Severity(row.get("severity"))
    except ValueError:
        return None
    said = pages.page(code).summary
    span = Span(Position(first, 1), Position(max(first, last), 1))
    return Entry(Finding(code, codes.names()[code], severity, said[:1].upper() + said[1:], path, span), None, fingerprint)
