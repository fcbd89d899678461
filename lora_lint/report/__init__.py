"""Output formats, one module each; every one has ``render(report) -> str``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from lora_lint.engine import FileResult
from lora_lint.findings import Applicability, Finding


@dataclass(frozen=True)
class Report:
    """What a run found: its files in order, whether to colour, and whether unsafe fixes were asked for."""

    files: Sequence[FileResult]
    color: bool = False
    unsafe: bool = False

    @property
    def findings(self) -> list[Finding]:
        return [finding for file in self.files for finding in file.findings]


def render(report: Report, output_format: str) -> str:
    """The report in a format of ``config.FORMATS``, with a final line ending unless empty."""
    module = importlib.import_module(f"lora_lint.report.{output_format}")
    return cast(Callable[[Report], str], module.render)(report)


def mark(finding: Finding) -> str:
    """``safe fix``, ``unsafe fix``, or nothing where no fix can be applied."""
    if finding.fix is None or not finding.fix.edits or finding.fix.applicability is Applicability.DISPLAY:
        return ""
    return f"{finding.fix.applicability.value} fix"
