"""``lora-lint upgrade-report``: what breaks when a project's libraries move to other versions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from lora_lint.config import Configs, Overrides, Settings, settings
from lora_lint.discovery import discover
from lora_lint.engine import FileResult, Projects, check_file
from lora_lint.findings import Applicability, Finding, Severity
from lora_lint.report import Report, render
from lora_lint.report.terminal import complain, echo, use_color
from lora_lint.statuses import FAILED, FINDINGS
from lora_lint.target import Target, split
from lora_lint.versions import EVERYWHERE


def upgrade(paths: Sequence[str], to: tuple[str, ...], configs: Configs, output_format: str) -> int:
    """Print what fails on the versions ``to`` and not on those that the project uses now; returns the exit status.

    Raises ``ConfigError`` for versions that cannot be used.
    """
    failed = False

    def problem(message: str) -> None:
        nonlocal failed
        failed = True
        complain(f"error: {message}")

    projects = Projects()
    moved = tuple(Target.parse([(" ".join(to), "--to")]).restricted)
    results: list[FileResult] = []
    for file in discover(paths, configs, problem):
        then = check_file(file.path, file.display, settings(file.config, Overrides(target=to)), projects)
        if then.error is not None:
            problem(f"{then.path}: {then.error.message}")
        elif then.findings:
            now = check_file(file.path, file.display, _now(settings(file.config)), projects)
            results.append(replace(then, findings=[f for f in then.findings if _breaks(f, now.findings, moved)]))
    report = Report(results, use_color("auto", sys.stdout))
    echo(render(report, output_format))
    if output_format in ("full", "concise"):
        complain(_summary(report, to, len({r.path for r in results if r.findings})))
    return FAILED if failed else FINDINGS if report.findings else 0


def _now(known: Settings) -> Settings:
    return replace(known, severity=Severity.NOTE)


def _breaks(finding: Finding, now: list[Finding], moved: tuple[str, ...]) -> bool:
    """Whether a finding is one of the versions that are moved to: it depends on them, and did not hold with certainty before."""
    if finding.versions in ("", EVERYWHERE) or not any(library in finding.versions for library in moved):
        return False
    return not any(f.code == finding.code and f.span == finding.span and f.severity >= Severity.ERROR for f in now)


def _summary(report: Report, to: tuple[str, ...], files: int) -> str:
    wanted = " ".join(part for text in to for part in split(text))
    count = len(report.findings)
    if not count:
        return f"Nothing is known to break on {wanted}."
    safe = sum(f.fix is not None and f.fix.applicability is Applicability.SAFE for f in report.findings)
    options = " ".join(f"--target {part}" for part in wanted.split())
    cure = f"; `lora-lint --fix {options}` applies {safe} safe fix{'es' if safe != 1 else ''}" if safe else ""
    return f"{count} finding{'s' if count != 1 else ''} in {files} file{'s' if files != 1 else ''} on {wanted}{cure}."
