"""GitHub's workflow commands, which become annotations of the pull request."""

from __future__ import annotations

import os

from lora_lint.findings import Finding, Severity
from lora_lint.report import Report

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report) -> str:
    """One command a finding; paths are relative to the workspace, with forward slashes."""
    return "".join(_command(finding) for finding in report.findings)


def _command(finding: Finding) -> str:
    start, end = finding.span.start, finding.span.end
    path = _path(finding.path)
    properties = {"title": f"lora-lint ({finding.code})", "file": path, "line": str(start.line)}
    if start.line == end.line:
        # Columns are shown only within one line; GitHub's end is inclusive.
        properties |= {"col": str(start.column), "endLine": str(end.line), "endColumn": str(max(end.column - 1, start.column))}
    else:
        properties["endLine"] = str(end.line)
    head = f"{path}:{start.line}:{start.column}: {finding.code} {finding.name}: {finding.message}"
    condition = f"when {finding.condition}" if finding.condition else ""
    text = "\n".join(part for part in (head, finding.failure, finding.versions, condition, finding.help) if part)
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_LEVELS[finding.severity]} {listed}::{_data(text)}\n"


def _path(path: str) -> str:
    try:
        relative = os.path.relpath(path, os.environ.get("GITHUB_WORKSPACE") or None)
    except ValueError:  # another drive on Windows
        relative = path
    return relative.replace("\\", "/")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
