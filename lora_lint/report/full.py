"""The format for people: what happens, on which versions, why (the dataflow, with its lines) and what to do (the fix as a small diff)."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Sequence

from lora_lint import pages
from lora_lint.findings import Edit, Finding, Position, Span
from lora_lint.report import Report, mark
from lora_lint.report.entries import verified
from lora_lint.report.places import Place, Sources, cell_of, place
from lora_lint.report.terminal import TAB, Painter, safe, width
from lora_lint.source import Source

INDENT = "  "
MAX_WIDTH = 160
KEPT_BEFORE = 40


def render(report: Report) -> str:
    """Blocks, each followed by an empty line."""
    paint = Painter(report.color, report.links)
    sources = Sources(report)
    columns = report.columns
    return "".join(_finding(finding, file.source, sources, paint, columns) + "\n" for file in report.files for finding in file.findings)


def summary(report: Report) -> str:
    """One line with the counts."""
    findings = report.findings
    if not findings:
        return f"No findings in {len(report.files)} file{'s' if len(report.files) != 1 else ''}."
    marks = [mark(finding) for finding in findings]
    safe_fixes, unsafe_fixes = marks.count("safe fix"), marks.count("unsafe fix")
    refuted = sum(finding.refuted for finding in findings)
    text = f"Found {len(findings)} finding{'s' if len(findings) != 1 else ''}" + (f", {refuted} refuted." if refuted else ".")
    if safe_fixes or (unsafe_fixes and report.unsafe):
        text += f" {safe_fixes + (unsafe_fixes if report.unsafe else 0)} fixable with --fix"
        text += f", {unsafe_fixes} more with --unsafe-fixes." if unsafe_fixes and not report.unsafe else "."
    elif unsafe_fixes:
        text += f" {unsafe_fixes} fixable with --fix --unsafe-fixes."
    return text


def _finding(finding: Finding, source: Source | None, sources: Sources, paint: Painter, columns: int | None) -> str:
    at = place(finding, source)
    fix = mark(finding)
    head = f"{paint('bold', f'{at.text}:')} {paint(finding.severity.value, finding.severity.value)} "
    code = paint.link(paint("bold", finding.code), pages.address(finding.code) if paint.links else None)
    lines = [head + f"{code} {finding.name}" + (f" [{fix}]" if fix else "")]
    lines += _wrapped(finding.message, columns)
    if finding.failure:
        lines += [INDENT + "    " + paint("error", line) for line in finding.failure.splitlines()]
    condition = f"when {finding.condition}" if finding.condition else ""
    lines += [line for text in (finding.versions, condition) if text for line in _wrapped(text, columns)]
    if finding.verification is not None:
        verdict, _, evidence = verified(finding).partition(": ")
        lines += _wrapped(f"{paint('bold', verdict)}: {evidence}", columns)
    if source is not None:
        lines += _frame(finding, sources, paint)
    help_text = finding.help or (finding.fix.title if finding.fix else "")
    if help_text:
        lines.append(f"{INDENT}{paint('frame', 'help:')} {help_text}")
    if source is not None and finding.fix and finding.fix.edits:
        lines += _diff(finding.fix.edits, source, at.cell, paint)
    return "\n".join(lines) + "\n"


def _wrapped(text: str, columns: int | None) -> list[str]:
    """Lines of running text, broken where a terminal ends."""
    lines = [INDENT + line for line in text.splitlines()]
    if columns is None:
        return lines
    return [part for line in lines for part in textwrap.wrap(line, max(columns, 40), subsequent_indent=INDENT, break_on_hyphens=False)]


def _frame(finding: Finding, sources: Sources, paint: Painter) -> list[str]:
    """The lines of the dataflow, each step under its line; those of other files and cells come first, under their name."""
    labels = [(sources.place(step), step.span, f"{number} {step.message}") for number, step in enumerate(finding.flow, 1)]
    own = sources.place(finding)

    def primary(at: Place) -> bool:
        return at.name == own.name and at.shown.start.line == own.shown.start.line

    if not any(primary(at) for at, _, _ in labels):
        labels.append((own, finding.span, ""))
    gutter = len(str(max(at.shown.start.line for at, _, _ in labels)))
    lines: list[str] = []
    names = sorted({(at.path, at.cell or 0, at.name) for at, _, _ in labels}, key=lambda key: (key[2] == own.name, key[0] == own.path, key))
    for _, _, name in names:
        if len(names) > 1:
            lines.append(_title(name, gutter, paint))
        here = [label for label in labels if label[0].name == name]
        before = 0
        for at, span, message in sorted(here, key=lambda label: (label[0].shown.start.line, label[2] == "")):
            source = sources.of(at.path)
            text = source.line(span.start.line) if source else ""
            if at.shown.start.line != before and source is not None:
                lines.append(_row(at.shown.start.line, "|", _cut(text, at.shown)[0], gutter, paint))
            before = at.shown.start.line
            _, column, length = _cut(text, at.shown)
            carets = ("^" if primary(at) else "-") * max(length, 1)
            label = paint(finding.severity.value if primary(at) else "step", f"{carets} {message}".rstrip())
            lines.append(f"{INDENT}{' ' * (gutter + 2)} {paint('frame', '|')} {' ' * column}{label}")
    return lines


def _title(name: str, gutter: int, paint: Painter) -> str:
    return f"{INDENT}{' ' * (gutter + 2)}{paint('frame', '-->')} {name}"


def _row(number: int, sign: str, text: str, gutter: int, paint: Painter, style: str = "") -> str:
    body = paint(style, f"{sign} {text}".rstrip()) if style else f"{paint('frame', sign)} {text}".rstrip()
    return f"{INDENT}  {paint('frame', str(number).rjust(gutter))} {body}"


def _cut(line: str, span: Span) -> tuple[str, int, int]:
    """The line as shown (tabs as spaces, a long one cut around the span), and the cell and width of the span in it."""
    first = span.start.column - 1
    last = span.end.column - 1 if span.end.line == span.start.line else len(line.rstrip())
    prefix = ""
    if width(line.expandtabs(TAB)) > MAX_WIDTH:
        drop = max(first - KEPT_BEFORE, 0) if first > MAX_WIDTH // 2 else 0
        prefix = "... " if drop else ""
        line, first, last = line[drop:], first - drop, last - drop
        if len(line) > MAX_WIDTH:
            line, last = line[:MAX_WIDTH] + " ...", min(last, MAX_WIDTH)
    shown = prefix + safe(line.expandtabs(TAB)).rstrip()
    column = len(prefix) + width(line[:first].expandtabs(TAB))
    end = len(prefix) + width(line[:last].expandtabs(TAB))
    return shown, column, end - column


def _diff(edits: Sequence[Edit], source: Source, cell: int | None, paint: Painter) -> list[str]:
    """The lines that the edits change, each group after the line before it; only these lines are rendered, however long the file is.

    Groups outside ``cell`` come under the name of theirs.
    """
    groups: list[tuple[int | None, list[Edit]]] = []
    last = -1
    for edit in sorted(set(edits), key=lambda e: (e.start, e.end)):
        first_line, last_line = source.position(edit.start).line, source.position(edit.end).line
        if groups and groups[-1][0] == cell_of(edit, source) and first_line <= last + 1:
            groups[-1][1].append(edit)
        else:
            groups.append((cell_of(edit, source), [edit]))
        last = max(last, last_line)
    gutter = len(str(last + sum(edit.text.count("\n") for edit in edits)))
    lines: list[str] = []
    shift = 0
    for here, group in groups:
        if here != cell:
            lines.append(_title(f"{source.path}:cell {here}", gutter, paint))
            cell, shift = here, 0
        line = source.position(group[0].start).line
        first = line - 1 if line > 1 and source.place(Position(line - 1, 1))[0] == here else line
        start = source.line_offsets[first - 1]
        end_line = source.position(max(edit.end for edit in group)).line
        end = source.line_offsets[end_line] if end_line < len(source.line_offsets) else len(source.data)
        old, new, at = source.data[start:end], b"", start
        for edit in group:
            new += source.data[at : edit.start] + edit.text.encode("utf-8")
            at = max(edit.end, at)
        new += source.data[at:end]
        was, now = source.shown(old.decode("utf-8")).splitlines(), source.shown(new.decode("utf-8")).splitlines()
        lines += _group(was, now, source.place(Position(first, 1))[1].line, shift, gutter, paint)
        shift += len(now) - len(was)
    return lines


def _group(was: list[str], now: list[str], first: int, shift: int, gutter: int, paint: Painter) -> list[str]:
    def show(number: int, sign: str, text: str, style: str = "") -> str:
        return _row(number, sign, safe(text.expandtabs(TAB)), gutter, paint, style)

    lines: list[str] = []
    blocks = difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes()
    for index, (kind, a, b, c, d) in enumerate(blocks):
        if kind == "equal":
            # Of the lines that stay, those next to a change are enough.
            keep = [a] if index == 0 else [] if index == len(blocks) - 1 else range(a, b)
            keep = [b - 1] if index == 0 and len(blocks) > 1 else keep
            lines += [show(first + i, "|", was[i]) for i in keep if was[i].strip()]
        lines += [show(first + i, "-", was[i], "remove") for i in range(a, b) if kind in ("delete", "replace")]
        lines += [show(first + shift + j, "+", now[j], "add") for j in range(c, d) if kind in ("insert", "replace")]
    return lines
