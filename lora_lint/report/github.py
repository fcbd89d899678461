"""GitHub's workflow commands, which become annotations of the pull request, and the summary of a workflow's step.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import os
import re
from collections import Counter

from lora_lint.findings import Finding, Severity
from lora_lint.report import Report
from lora_lint.report.entries import details, line
from lora_lint.report.places import Place, Sources, percent, relative, root

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
# GitHub drops what goes beyond 10 annotations of a kind in a step; one notice is kept for the note that says so.
_LIMITS = {Severity.ERROR: 10, Severity.WARNING: 10, Severity.NOTE: 9}
# GitHub refuses a summary of more than 1 MiB, and nobody reads that many rows.
_ROWS = 500
_ICONS = {Severity.ERROR: "🔴 error", Severity.WARNING: "🟡 warning", Severity.NOTE: "🔵 note"}


def render(report: Report) -> str:
    """One command a finding, with paths relative to the workspace; beyond GitHub's limits a note, and the others as lines of the log."""
    sources, base = Sources(report), root()
    commands, others = [], []
    counts: Counter[Severity] = Counter()
    for finding in report.findings:
        place = sources.place(finding)
        counts[finding.severity] += 1
        if counts[finding.severity] <= _LIMITS[finding.severity]:
            commands.append(_command(finding, place, base))
        else:
            others.append(_plain(finding, place, base))
    if others:
        number = f"{len(others)} more finding{'s' if len(others) != 1 else ''}"
        text = f"{number} than GitHub shows as annotations of one step: the log lists them"
        commands.append(f"::notice title=lora-lint::{_data(text)}\n")
    return "".join([*commands, *others])


def summary(report: Report) -> str:
    """The findings as a Markdown table, for the page of the workflow's run."""
    sources, base = Sources(report), root()
    found = report.findings
    lines = ["## lora-lint", "", f"{len(found)} finding{'s' if len(found) != 1 else ''}", ""]
    lines += ["| severity | rule | place | what happens |", "|---|---|---|---|"]
    for finding in found[:_ROWS]:
        place = sources.place(finding)
        name = _markdown(_where(place, base))
        link = _link(place, base)
        cells = (
            _ICONS[finding.severity],
            f"{finding.code} {finding.name}",
            f"[{name}]({link})" if link else name,
            "<br>".join(_markdown(part) for part in details(finding)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    if len(found) > _ROWS:
        lines += ["", f"… and {len(found) - _ROWS} more"]
    return "\n".join(lines) + "\n"


def _command(finding: Finding, place: Place, base: str) -> str:
    start, end = place.file.start, place.file.end
    properties = {"title": f"lora-lint ({finding.code})", "file": relative(finding.path, base), "line": str(start.line)}
    if start.line == end.line:
        # Columns are shown only within one line; GitHub's end is inclusive.
        properties |= {"col": str(start.column), "endLine": str(end.line), "endColumn": str(max(end.column - 1, start.column))}
    else:
        properties["endLine"] = str(end.line)
    first, *rest = details(finding)
    text = "\n".join((f"{_where(place, base)}: {finding.code} {finding.name}: {first}", *rest))
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_LEVELS[finding.severity]} {listed}::{_data(text)}\n"


def _plain(finding: Finding, place: Place, base: str) -> str:
    """A line of the log; nothing that stands in a checked file can turn it into a command."""
    text = line(f"{finding.severity.value} {_where(place, base)}: {finding.code} {finding.name}: {finding.message}")
    return text.replace("##[", "## [") + "\n"


def _where(place: Place, base: str) -> str:
    return relative(place.path, base) + place.text[len(place.path) :]


def _link(place: Place, base: str) -> str:
    """The address of the line on GitHub, where the surroundings tell."""
    server, repository, commit = (os.environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "SHA"))
    if not server or not repository or not commit:
        return ""
    return f"{server}/{repository}/blob/{commit}/{percent(relative(place.path, base))}#L{place.file.start.line}"


def _markdown(text: str) -> str:
    """Text in a cell of a table, without any markup of its own."""
    return re.sub(r"([\\`*_\[\]<>|~#@&$])", r"\\\1", line(text))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
