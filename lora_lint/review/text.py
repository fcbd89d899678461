"""The Markdown of comments and of the summary. Whatever comes from a checked file is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from lora_lint.findings import Finding, Severity, Step
from lora_lint.report.entries import Entry, markdown
from lora_lint.report.places import place
from lora_lint.review.forge import MARK, fenced

ICONS = {Severity.ERROR: "🔴", Severity.WARNING: "🟡", Severity.NOTE: "🔵"}
_MOST = 50_000  # characters of a comment: forges refuse longer ones, and with them the whole review


def mark(prints: Iterable[str]) -> str:
    """The hidden line by which a later run knows a comment."""
    return f"{MARK} fp={','.join(prints)} -->"


def where(entry: Entry) -> str:
    """``src/train.py:41``, or ``nb.ipynb:cell 3:2``."""
    at = place(entry.finding, entry.source)
    return f"{at.name}:{at.shown.start.line}"


def comment(entries: Sequence[Entry], away: bool) -> str:
    """What a comment says of findings that it stands for; ``away``: it does not stand where the first one is reported."""
    first = entries[0].finding
    parts = [f"{ICONS[first.severity]} **{first.code}** {first.name}" + (f", at {markdown(where(entries[0]))}" if away else "")]
    parts.append(markdown(first.message))
    if first.failure:
        parts.append(fenced(first.failure, "text"))
    parts += [markdown(text) for text in (first.versions, f"when {first.condition}" if first.condition else "") if text]
    if first.help:
        parts.append(f"**Help:** {markdown(first.help)}")
    if len(entries) > 1:
        others = ", ".join(markdown(where(one)) for one in entries[1:])
        parts.append(f"The same in {len(entries) - 1} more place{'s' if len(entries) > 2 else ''}: {others}")
    elif len(first.flow) > 1:
        steps = "\n".join(f"{number}. {_step(step)}: {markdown(step.message)}" for number, step in enumerate(first.flow, 1))
        parts.append(f"<details><summary>How it comes to this</summary>\n\n{steps}\n\n</details>")
    return _cut("\n\n".join(parts))


def summary(entries: Sequence[Entry], commented: int) -> str:
    """The comment on the pull request as a whole: findings that no comment stands for."""
    counted = f"{len(entries)} finding{'s' if len(entries) != 1 else ''}"
    also = f", besides {commented} on its lines" if commented else ""
    lines = ["### lora-lint", "", f"{counted} that this pull request introduces outside the lines that it shows{also}:", ""]
    lines += [_row(entry.finding, where(entry)) for entry in entries]
    return _cut("\n".join(lines)) + f"\n\n{MARK} summary -->"


def opening(number: int) -> str:
    """The line over the comments of a review."""
    return f"lora-lint: {number} comment{'s' if number != 1 else ''} on what this pull request introduces.\n\n{MARK} review -->"


def settled(commit: str) -> str:
    """What is left of a comment that somebody replied to, once its finding is gone."""
    return f"✅ Fixed in `{commit[:12]}`.\n\n{MARK} settled -->"


def _row(finding: Finding, at: str) -> str:
    return f"- {ICONS[finding.severity]} {markdown(at)} **{finding.code}** {finding.name}: {markdown(finding.message)}"


def _step(step: Step) -> str:
    return markdown(f"{PurePosixPath(step.path).as_posix()}:{step.span.start.line}")


def _cut(text: str) -> str:
    """A text short enough; a block that the cut leaves open is closed."""
    if len(text) <= _MOST:
        return text
    kept = text[:_MOST].rsplit("\n", 1)[0]
    return kept + ("\n```" if kept.count("```") % 2 else "") + "\n\n… cut"
