"""One line a finding."""

from __future__ import annotations

from lora_lint.report import Report, mark
from lora_lint.report.terminal import Painter
from lora_lint.versions import EVERYWHERE


def render(report: Report) -> str:
    """``path:line:column: severity CODE name: message (on which releases) [safe fix]`` lines."""
    paint = Painter(report.color)
    lines = []
    for finding in report.findings:
        place = paint("bold", f"{finding.path}:{finding.span.start.line}:{finding.span.start.column}:")
        fix = mark(finding)
        text = " ".join(finding.message.split()) + (f" ({finding.versions})" if finding.versions not in ("", EVERYWHERE) else "")
        severity = paint(finding.severity.value, finding.severity.value)
        lines.append(f"{place} {severity} {paint('bold', finding.code)} {finding.name}: {text}{f' [{fix}]' if fix else ''}\n")
    return "".join(lines)
