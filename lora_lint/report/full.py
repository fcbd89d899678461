"""The format for people: what happens, on which versions, why (the dataflow, with its lines) and what to do (the fix as a small diff)."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from lora_lint.findings import Edit, Finding, Span
from lora_lint.report import Report, mark
from lora_lint.report.terminal import TAB, Painter, safe, width
from lora_lint.source import Source, SourceError

INDENT = "  "
MAX_WIDTH = 160
KEPT_BEFORE = 40


def render(report: Report) -> str:
    """Blocks, each followed by an empty line."""
    paint = Painter(report.color)
    return "".join(_finding(finding, file.source, paint) + "\n" for file in report.files for finding in file.findings)


def summary(report: Report) -> str:
    """One line with the counts."""
    findings = report.findings
    if not findings:
        return f"No findings in {len(report.files)} file{'s' if len(report.files) != 1 else ''}."
    marks = [mark(finding) for finding in findings]
    safe_fixes, unsafe_fixes = marks.count("safe fix"), marks.count("unsafe fix")
    text = f"Found {len(findings)} finding{'s' if len(findings) != 1 else ''}."
    if safe_fixes or (unsafe_fixes and report.unsafe):
        text += f" {safe_fixes + (unsafe_fixes if report.unsafe else 0)} fixable with --fix"
        text += f", {unsafe_fixes} more with --unsafe-fixes." if unsafe_fixes and not report.unsafe else "."
    elif unsafe_fixes:
        text += f" {unsafe_fixes} fixable with --fix --unsafe-fixes."
    return text


def _finding(finding: Finding, source: Source | None, paint: Painter) -> str:
    start = finding.span.start
    fix = mark(finding)
    head = f"{paint('bold', f'{finding.path}:{start.line}:{start.column}:')} {paint(finding.severity.value, finding.severity.value)} "
    lines = [head + f"{paint('bold', finding.code)} {finding.name}" + (f" [{fix}]" if fix else "")]
    lines += [INDENT + line for line in finding.message.splitlines()]
    if finding.failure:
        lines += [INDENT + "    " + paint("error", line) for line in finding.failure.splitlines()]
    condition = f"when {finding.condition}" if finding.condition else ""
    lines += [INDENT + line for text in (finding.versions, condition) if text for line in text.splitlines()]
    if source is not None:
        lines += _frame(finding, source, paint)
    help_text = finding.help or (finding.fix.title if finding.fix else "")
    if help_text:
        lines.append(f"{INDENT}{paint('frame', 'help:')} {help_text}")
    if source is not None and finding.fix and finding.fix.edits:
        lines += _diff(finding.fix.edits, source, paint)
    return "\n".join(lines) + "\n"


def _frame(finding: Finding, source: Source, paint: Painter) -> list[str]:
    """The lines of the dataflow, each step under its line; those of other files come first, under that file's name."""
    labels = [(step.path, step.span, f"{number} {step.message}") for number, step in enumerate(finding.flow, 1)]
    if not any(path == finding.path and span.start.line == finding.span.start.line for path, span, _ in labels):
        labels.append((finding.path, finding.span, ""))
    texts: dict[str, Source | None] = {finding.path: source}
    gutter = len(str(max(span.start.line for _, span, _ in labels)))
    lines: list[str] = []
    paths = sorted({path for path, _, _ in labels}, key=lambda path: (path == finding.path, path))
    for path in paths:
        if path not in texts:
            texts[path] = _other(path)
        if len(paths) > 1:
            lines.append(f"{INDENT}{' ' * (gutter + 2)}{paint('frame', '-->')} {path}")
        shown = texts[path]
        before = 0
        for _, span, message in sorted((label for label in labels if label[0] == path), key=lambda label: (label[1].start.line, label[2] == "")):
            primary = path == finding.path and span.start.line == finding.span.start.line
            if span.start.line != before and shown is not None:
                text, _, _ = _cut(shown.line(span.start.line), span)
                lines.append(_row(span.start.line, "|", text, gutter, paint))
            before = span.start.line
            _, column, length = _cut(shown.line(span.start.line) if shown else "", span)
            carets = ("^" if primary else "-") * max(length, 1)
            label = paint(finding.severity.value if primary else "step", f"{carets} {message}".rstrip())
            lines.append(f"{INDENT}{' ' * (gutter + 2)} {paint('frame', '|')} {' ' * column}{label}")
    return lines


def _other(path: str) -> Source | None:
    try:
        return Source.read(path)
    except SourceError:
        return None


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


def _diff(edits: Sequence[Edit], source: Source, paint: Painter) -> list[str]:
    """The lines that the edits change, each group after the line before it; only these lines are rendered, however long the file is."""
    groups: list[list[Edit]] = []
    last = -1
    for edit in sorted(set(edits), key=lambda e: (e.start, e.end)):
        first_line, last_line = source.position(edit.start).line, source.position(edit.end).line
        if groups and first_line <= last + 1:
            groups[-1].append(edit)
        else:
            groups.append([edit])
        last = max(last, last_line)
    gutter = len(str(last + sum(edit.text.count("\n") for edit in edits)))
    lines: list[str] = []
    shift = 0
    for group in groups:
        first = max(source.position(group[0].start).line - 1, 1)
        start = source.line_offsets[first - 1]
        end_line = source.position(max(edit.end for edit in group)).line
        end = source.line_offsets[end_line] if end_line < len(source.line_offsets) else len(source.data)
        old, new, at = source.data[start:end], b"", start
        for edit in group:
            new += source.data[at : edit.start] + edit.text.encode("utf-8")
            at = max(edit.end, at)
        new += source.data[at:end]
        was, now = old.decode("utf-8").splitlines(), new.decode("utf-8").splitlines()
        lines += _group(was, now, first, shift, gutter, paint)
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
