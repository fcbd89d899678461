"""Output formats, one module each; every one has ``render(report) -> str``.

Nothing heavy is imported here: the command line and the settings take the names of the formats from this module.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from lora_lint.engine import FileResult
    from lora_lint.findings import Finding

# What `--output-format` may say, and the module that writes it.
FORMATS: Mapping[str, str] = {
    name: f"{__name__}.{name}" for name in ("full", "concise", "json", "jsonl", "github", "gitlab", "sarif", "junit", "rdjson", "rdjsonl")
}


@dataclass(frozen=True)
class Report:
    """What a run found: its files in order, whether to colour, and whether unsafe fixes were asked for.

    ``suppressed``: whether a format that can mark findings as suppressed (sarif) lists those, too. ``links``: whether codes link to their pages.
    ``columns``: the width of the terminal that the report is for, in cells (``None``: it is for no terminal).
    """

    files: Sequence[FileResult]
    color: bool = False
    unsafe: bool = False
    suppressed: bool = False
    links: bool = False
    columns: int | None = None

    @property
    def findings(self) -> list[Finding]:
        return [finding for file in self.files for finding in file.findings]


def render(report: Report, output_format: str) -> str:
    """The report in a format of ``FORMATS``, with a final line ending unless empty."""
    module = importlib.import_module(FORMATS[output_format])
    return cast(Callable[[Report], str], module.render)(report)


def additions(report: Report, output_format: str, environment: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """What a format adds to files that the surroundings name: each file's path, and the text to append to it."""
    file = (os.environ if environment is None else environment).get("GITHUB_STEP_SUMMARY")
    if output_format != "github" or not file or not report.findings:
        return []
    from lora_lint.report import github

    return [(file, github.summary(report))]


def mark(finding: Finding) -> str:
    """``safe fix``, ``unsafe fix``, or nothing where no fix can be applied."""
    from lora_lint.findings import Applicability

    if finding.fix is None or not finding.fix.edits or finding.fix.applicability is Applicability.DISPLAY:
        return ""
    return f"{finding.fix.applicability.value} fix"
