"""Writing suppression comments for what is found, for ``--add-ignore``."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from itertools import groupby

from lora_lint import codes
from lora_lint.findings import Edit, Finding, Position
from lora_lint.source import Source

_LISTED = re.compile(r"#\s*lora-lint\s*:\s*ignore\s*\[([^\[\]]*)\]", re.IGNORECASE)


def add_ignores(source: Source, findings: Iterable[Finding], reason: str) -> tuple[str, list[Finding]]:
    """The text with a comment for each finding, at the end of its line or of the last line of its statement; and the findings that got one.

    A comment that is there already takes further codes. Findings about comments and syntax cannot be suppressed, and where no line of the
    statement can take a comment (it ends inside a string or with a backslash), none is written.
    """
    lines = _Lines(source)
    wanted: list[tuple[int, str, Finding]] = []
    for finding in findings:
        row = lines.row(finding)
        if finding.code not in codes.META and finding.path == source.path and row is not None:
            wanted.append((row, finding.code, finding))
    data = source.data
    for row, group in groupby(sorted(wanted, key=lambda one: one[:2], reverse=True), key=lambda one: one[0]):
        edit = lines.comment(row, sorted({code for _, code, _ in group}), reason)
        data = data[: edit.start] + edit.text.encode("utf-8") + data[edit.end :]
    return data.decode("utf-8"), [finding for _, _, finding in sorted(wanted, key=lambda one: one[:2])]


class _Lines:
    """Which lines of a file can take a comment at their end, and which have one."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._free: set[int] = set()
        """The lines whose end can take a comment."""
        self._lasts: dict[int, int] = {}
        """For each line of a statement the last one of it."""
        self._comments: dict[int, int] = {}
        """Where the comment of a line begins (0-based column)."""
        first = 0
        try:
            for token in tokenize.generate_tokens(io.StringIO(source.text, newline="").readline):
                row = token.start[0]
                if token.type == tokenize.COMMENT:
                    self._comments[row] = token.start[1]
                elif token.type in (tokenize.NL, tokenize.NEWLINE):
                    self._free.add(row)
                    if token.type == tokenize.NEWLINE:
                        self._lasts.update(dict.fromkeys(range(first, row + 1), row))
                        first = 0
                elif token.type not in (tokenize.INDENT, tokenize.DEDENT):
                    first = first or row
        except (tokenize.TokenError, SyntaxError):
            return

    def row(self, finding: Finding) -> int | None:
        """Where a comment for a finding may stand: its own first line, else the last one of its statement."""
        first = finding.span.start.line
        rows = (first, self._lasts.get(first, 0))
        return next((row for row in rows if row in self._free and self._source.editable(self._blanks(row))), None)

    def comment(self, row: int, listed: list[str], reason: str) -> Edit:
        """The edit that silences codes on a line."""
        line = self._source.line(row)
        found = _LISTED.search(line, self._comments.get(row, len(line)))
        if found is None:
            blanks = self._blanks(row)
            return Edit(blanks.start, blanks.end, f"  # lora-lint: ignore[{', '.join(listed)}] {reason}".rstrip())
        old = [one.strip() for one in found[1].split(",") if one.strip()]
        known = {codes.resolve(one) for one in old}
        both = ", ".join([*old, *(code for code in listed if code not in known)])
        return Edit(self._offset(row, found.start(1)), self._offset(row, found.end(1)), both)

    def _blanks(self, row: int) -> Edit:
        """The removal of the blanks at the end of a line."""
        line = self._source.line(row)
        return Edit(self._offset(row, len(line.rstrip())), self._offset(row, len(line)), "")

    def _offset(self, row: int, column: int) -> int:
        return self._source.offset(Position(row, column + 1))
