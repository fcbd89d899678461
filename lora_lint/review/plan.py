"""What to write, edit and delete, given what a pull request introduces, the lines that it shows, and our comments of earlier runs. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lora_lint.findings import Step
from lora_lint.report import Report
from lora_lint.report.entries import Entry, offered
from lora_lint.report.places import Lines as Block
from lora_lint.report.places import place, whole_lines
from lora_lint.review import text
from lora_lint.review.diff import Lines
from lora_lint.review.forge import MARK, Comment, Remark

FOLDED = 5
"""A rule that has more comments than this gets one for all."""

_SUGGESTED = 20  # lines of a suggestion; a longer one does not fit beside the code


@dataclass(frozen=True)
class Plan:
    """``keep`` are comments that stand as they are, ``summary`` the text for the pull request as a whole (``None``: nothing is to say there)."""

    post: list[Comment] = field(default_factory=list)
    edit: list[tuple[Remark, str]] = field(default_factory=list)
    keep: list[Remark] = field(default_factory=list)
    delete: list[Remark] = field(default_factory=list)
    settle: list[Remark] = field(default_factory=list)
    summary: str | None = None


@dataclass(frozen=True)
class _Anchor:
    """The lines that a comment stands on; ``away``: not those of the finding."""

    path: str
    start: int
    line: int
    away: bool = False


def plan(
    found: Sequence[Entry], shown: Mapping[str, Lines], remarks: Sequence[Remark], most: int, opening: Callable[[Comment], str]
) -> Plan:
    """The plan for findings (in the order to report them); at most ``most`` comments, the others go to the summary.

    ``opening`` is what the forge wants after the fence of a comment's suggestion.
    """
    anchored: dict[str, list[tuple[Entry, _Anchor]]] = {}
    homeless: list[Entry] = []
    for entry in found:
        anchor = _anchor(entry, shown)
        if anchor is None:
            homeless.append(entry)
        else:
            anchored.setdefault(entry.finding.code, []).append((entry, anchor))
    comments: list[tuple[Comment, list[Entry]]] = []
    taken: set[tuple[str, int]] = set()
    for group in anchored.values():
        if len(group) > FOLDED:
            entries = [entry for entry, _ in group]
            comments.append((_comment(entries, group[0][1], None, shown), entries))
            continue
        for entry, anchor in group:
            block = _suggestion(entry, anchor, shown[anchor.path], taken)
            comments.append((_comment([entry], anchor, block, shown), [entry]))
    order = {id(entry): number for number, entry in enumerate(found)}
    comments.sort(key=lambda one: order[id(one[1][0])])
    homeless += [entry for _, entries in comments[most:] for entry in entries]
    homeless.sort(key=lambda entry: order[id(entry)])
    return _against(remarks, [comment for comment, _ in comments[:most]], homeless, opening)


def _against(remarks: Sequence[Remark], wanted: list[Comment], homeless: list[Entry], opening: Callable[[Comment], str]) -> Plan:
    """Match what is wanted with what is there: a comment in the same file that has a fingerprint in common is the same comment.

    One that does not stand on the right lines any more is written anew, or, where somebody replied, loses its suggestion.
    """
    made = Plan(summary=text.summary(homeless, len(wanted)) if homeless else None)
    left = {comment.mark: comment for comment in wanted}
    for remark in remarks:
        prints = _prints(remark.body)
        if not prints:  # settled already
            continue
        same = next((comment for comment in left.values() if comment.path == remark.path and prints & _prints(comment.mark)), None)
        if same is None or not (remark.answered or remark.stands_as(same)):
            (made.settle if remark.answered else made.delete).append(remark)
            continue
        del left[same.mark]
        if not remark.stands_as(same):
            same = replace(same, suggestion=None)
        body = same.body(opening(same))
        if remark.body.split() == body.split():  # forges may trim
            made.keep.append(remark)
        else:
            made.edit.append((remark, body))
    made.post.extend(left.values())
    return made


def _prints(body: str) -> set[str]:
    """The fingerprints in the mark of a comment."""
    found = re.search(re.escape(MARK) + r" fp=([0-9a-f,]+) -->\s*\Z", body)
    return set(found[1].split(",")) if found else set()


def _anchor(entry: Entry, shown: Mapping[str, Lines]) -> _Anchor | None:
    """The added line to comment on: the finding's own, else that of the last step which the pull request adds."""
    at = place(entry.finding, entry.source)
    lines = shown.get(at.path)
    if lines is not None:
        line = lines.first_added(at.file.start.line, at.file.end.line)
        if line is not None:
            return _Anchor(at.path, line, line)
    for step in reversed(entry.finding.flow):
        lines = shown.get(step.path)
        span = _span(step, entry)
        line = lines.first_added(*span) if lines is not None and span else None
        if line is not None:
            return _Anchor(step.path, line, line, away=True)
    return None


def _span(step: Step, entry: Entry) -> tuple[int, int] | None:
    """The lines of a step in its file; a step in another notebook cannot be placed without reading it."""
    if step.path == entry.finding.path:
        span = place(step, entry.source).file
    elif step.path.endswith(".ipynb"):
        return None
    else:
        span = step.span
    return span.start.line, span.end.line


def _suggestion(entry: Entry, anchor: _Anchor, lines: Lines, taken: set[tuple[str, int]]) -> Block | None:
    """The fix as whole lines, where it is safe, inside one hunk with the comment, and no other suggestion has these lines."""
    fix = offered(entry, Report([]))
    if fix is None or entry.source is None or anchor.path != entry.finding.path:
        return None
    block = whole_lines(fix, entry.source, _SUGGESTED)
    if block is None or not lines.same_hunk(min(block.first, anchor.start), max(block.last, anchor.line)):
        return None
    covered = {(anchor.path, line) for line in range(block.first, block.last + 1)}
    if covered & taken or lines.first_added(block.first, block.last) is None:
        return None
    taken |= covered
    return block


def _comment(entries: list[Entry], anchor: _Anchor, block: Block | None, shown: Mapping[str, Lines]) -> Comment:
    mark = text.mark(entry.fingerprint for entry in entries)
    elsewhere = anchor.away or (block is not None and not block.first <= anchor.start <= block.last)
    said = text.comment(entries, elsewhere)
    if block is None:
        return Comment(anchor.path, anchor.start, anchor.line, said, mark)
    return Comment(anchor.path, block.first, block.last, said, mark, block.text, shown[anchor.path].old.get(block.last))
