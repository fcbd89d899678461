"""The findings as formats for machines list them: with their files, a fingerprint, and what there is to say about each."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lora_lint.findings import Applicability, Finding, Fix, Verdict
from lora_lint.report import Report
from lora_lint.report.places import relative, root
from lora_lint.source import Source

_NAMED = ("torch", "transformers", "peft", "trl", "accelerate", "bitsandbytes")


@dataclass(frozen=True)
class Entry:
    """A finding, the source that it refers to (``None``: it could not be read), its fingerprint, and whether it was suppressed."""

    finding: Finding
    source: Source | None
    fingerprint: str
    suppressed: bool = False


def entries(report: Report, *, suppressed: bool = False, base: str | None = None) -> Iterator[Entry]:
    """The findings in the order of the report, after those of each file the suppressed ones if asked for.

    A fingerprint is made of the file, the rule, the text of the line without blanks, and the number of the finding among those that are alike;
    suppressed ones count, so that a comment on one finding leaves the others' fingerprints alone. Paths are relative to ``base``, else to the
    checkout.
    """
    base = base or root()
    for file in report.files:
        path = relative(file.path, base)
        seen: Counter[str] = Counter()
        prints: dict[int, str] = {}
        for finding in sorted([*file.findings, *file.suppressed], key=lambda one: one.span):
            text = "\0".join((path, finding.code, "".join(finding.line_text.split())))
            prints[id(finding)] = hashlib.sha256(f"{text}\0{seen[text]}".encode()).hexdigest()[:32]
            seen[text] += 1
        for finding in file.findings:
            yield Entry(finding, file.source, prints[id(finding)])
        for finding in file.suppressed if suppressed else ():
            yield Entry(finding, file.source, prints[id(finding)], True)


def offered(entry: Entry, report: Report) -> Fix | None:
    """The fix that may be offered for application: a safe one, or an unsafe one where those were asked for."""
    fix = entry.finding.fix
    allowed = {Applicability.SAFE, Applicability.UNSAFE} if report.unsafe else {Applicability.SAFE}
    return fix if fix is not None and fix.edits and fix.applicability in allowed and entry.source is not None else None


def details(finding: Finding) -> list[str]:
    """All that there is to say about a finding besides what, where and how to fix it: paragraphs of plain text."""
    condition = f"when {finding.condition}" if finding.condition else ""
    return [part for part in (finding.message, finding.failure, finding.versions, condition, verified(finding), finding.help) if part]


def verified(finding: Finding) -> str:
    """``confirmed: …``, with what was seen; empty where no step was run."""
    made = finding.verification
    if made is None:
        return ""
    on = ", ".join(f"{name} {version}" for name, version in made.versions if name in _NAMED)
    where = f" (on {on})" if made.verdict is Verdict.REFUTED and on else ""
    return f"{made.verdict.value}{where}: {made.evidence}"


def markdown(text: str) -> str:
    """A text on one line of Markdown, without any markup of its own, and naming nobody and nothing."""
    return re.sub(r"([\\`*_\[\]<>|~&$])", r"\\\1", re.sub(r"([@#])", "\\1\u2060", line(text)))


def line(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())
