"""One line a finding."""

from __future__ import annotations

from lora_lint.report import Report, mark
from lora_lint.report.entries import verified
from lora_lint.report.places import Sources
from lora_lint.report.terminal import Painter
from lora_lint.versions import EVERYWHERE


def render(report: Report) -> str:
    """``path:line:column: severity CODE name: message (on which releases) [safe fix]`` lines; in a notebook the path is ``nb.ipynb:cell 3``."""
    paint = Painter(report.color)
    sources = Sources(report)
    lines = []
    for finding in report.findings:
        place = paint("bold", f"{sources.place(finding).text}:")
        fix = mark(finding)
        text = " ".join(finding.message.split()) + (f" ({finding.versions})" if finding.versions not in ("", EVERYWHERE) else "")
        text += f" [{verified(finding)}]" if finding.verification else ""
        severity = paint(finding.severity.value, finding.severity.value)
        lines.append(f"{place} {severity} {paint('bold', finding.code)} {finding.name}: {text}{f' [{fix}]' if fix else ''}\n")
    return "".join(lines)
