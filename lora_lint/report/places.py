"""Where findings, dataflow steps and fixes stand, in the terms of each format: all that reports know of positions.

A notebook has two answers: the cell that people look at, and the line of the .ipynb file that machines need.
"""

from __future__ import annotations

import enum
import os
import re
import string
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lora_lint import fix as fixes
from lora_lint.findings import Edit, Finding, Fix, Position, Span, Step
from lora_lint.report import Report
from lora_lint.source import Source, SourceError

_PLAIN = frozenset(string.ascii_letters + string.digits + "-._~/")
_NEWLINE = re.compile(r"\r\n?|\n")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


class Unit(enum.Enum):
    """What a format counts columns in."""

    CODE_POINTS = "code points"
    UTF_16 = "UTF-16 code units"
    UTF_8 = "bytes of UTF-8"


# --- spans -------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where something stands.

    ``cell`` is the number of the code cell (``None``: the file has no cells), ``shown`` the span in that cell, or in the file if there is none,
    in code points; ``file`` is the span in the file itself, its columns in the unit that was asked for.
    """

    path: str
    cell: int | None
    shown: Span
    file: Span

    @property
    def name(self) -> str:
        """``train.py``, or ``nb.ipynb:cell 3``."""
        return self.path if self.cell is None else f"{self.path}:cell {self.cell}"

    @property
    def text(self) -> str:
        """``train.py:2:5``, or ``nb.ipynb:cell 3:2:5``."""
        return f"{self.name}:{self.shown.start.line}:{self.shown.start.column}"


def place(at: Finding | Step, source: Source | None, unit: Unit = Unit.CODE_POINTS) -> Place:
    """Where a finding or a step stands; ``source`` is the file that it stands in (``None``: it could not be read, columns stay code points)."""
    if source is None:
        return Place(at.path, None, at.span, at.span)
    cell, start = source.place(at.span.start)
    last, end = source.place(at.span.end)
    if last != cell:
        end = start
    return Place(at.path, cell, Span(start, max(start, end)), span_in_file(at.span, source, unit))


def span_in_file(span: Span, source: Source, unit: Unit = Unit.CODE_POINTS) -> Span:
    """A span of the source's text in the file itself."""
    start = source.in_file(span.start)
    end = max(start, source.in_file(span.end))
    return Span(_in_unit(start, source, unit), _in_unit(end, source, unit))


def _in_unit(position: Position, source: Source, unit: Unit) -> Position:
    if unit is Unit.CODE_POINTS:
        return position
    lines = _lines(source)
    line = lines[position.line - 1] if position.line <= len(lines) else ""
    return Position(position.line, column(line, position.column, unit))


def column(line: str, code_points: int, unit: Unit) -> int:
    """A 1-based column of a line in another unit."""
    before = line[: code_points - 1]
    size = {Unit.CODE_POINTS: len(before), Unit.UTF_16: len(before.encode("utf-16-le")) // 2, Unit.UTF_8: len(before.encode("utf-8"))}
    return size[unit] + code_points - len(before)


@lru_cache(maxsize=4)
def _written(source: Source) -> str:
    """The text of the file itself, which for a notebook is not that of the module."""
    return source.text if type(source) is Source else _spelled(source.text, source)


def _spelled(text: str, source: Source) -> str:
    """The text of a notebook's file when that of its module is ``text``. Raises ``SourceError``."""
    return source.encode(text)[len(source.bom) :].decode(source.encoding)


@lru_cache(maxsize=4)
def _lines(source: Source) -> list[str]:
    """The lines of the file with their endings."""
    return _LINE.findall(_written(source))


@lru_cache(maxsize=4)
def _starts(source: Source) -> list[int]:
    """Where in the file's text each line starts."""
    return [0, *(match.end() for match in _NEWLINE.finditer(_written(source)))]


# --- fixes -------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Replacement:
    """Replace a span of the file itself (columns in code points) by ``text``; ``start`` and ``end`` are its offsets in the file's text."""

    span: Span
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Lines:
    """Replace the whole lines ``first`` to ``last`` of the file by ``text``, which has no final line ending and is not empty."""

    first: int
    last: int
    text: str


def cell_of(edit: Edit, source: Source) -> int | None:
    """The cell that an edit belongs to; what is put behind a cell's last line belongs to that cell."""
    at = source.position(edit.start)
    cell, _ = source.place(at)
    return cell if cell is not None or at.line == 1 else source.place(Position(at.line - 1, 1))[0]


def replacements(fix: Fix, source: Source) -> list[Replacement]:
    """A fix in terms of the file itself, in file order; empty where it cannot be told (or there is nothing to replace)."""
    edits = sorted(set(fix.edits), key=lambda edit: (edit.start, edit.end))
    cells: dict[int | None, list[Edit]] = {}
    for edit in edits:
        cells.setdefault(cell_of(edit, source), []).append(edit)
    try:
        if list(cells) == [None]:
            return [_replacement(_offset(edit.start, source), _offset(edit.end, source), edit.text, source) for edit in edits]
        return [_in_cell(Fix(fix.title, fix.applicability, tuple(group)), source) for group in cells.values()]
    except SourceError:
        return []


def _offset(byte: int, source: Source) -> int:
    """An offset into ``data`` as one into the file's text."""
    at = source.position(byte)
    return _starts(source)[at.line - 1] + at.column - 1


def _replacement(start: int, end: int, text: str, source: Source) -> Replacement:
    def position(at: int) -> Position:
        line = bisect_right(_starts(source), at)
        return Position(line, at - _starts(source)[line - 1] + 1)

    return Replacement(Span(position(start), position(end)), start, end, text)


def _in_cell(fix: Fix, source: Source) -> Replacement:
    """The one stretch of a notebook's file that edits of one cell change: what is left without the common beginning and end."""
    data, _ = fixes.apply(source.data, [fix])
    old = _written(source)
    new = _spelled(data.decode("utf-8"), source)
    start = _common(old, new)
    behind = _common(old[start:][::-1], new[start:][::-1])
    return _replacement(start, len(old) - behind, new[start : len(new) - behind], source)


def _common(a: str, b: str) -> int:
    """How many characters two texts begin with in common."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def whole_lines(fix: Fix, source: Source, limit: int) -> Lines | None:
    """A fix as one block of whole lines; ``None`` where it would replace more than ``limit`` lines, or nothing."""
    made = replacements(fix, source)
    lines, starts, text = _lines(source), _starts(source), _written(source)
    if not made or not lines:
        return None
    first = min(made[0].span.start.line, len(lines))
    last = min(made[-1].span.end.line, len(lines))
    at = starts[first - 1]
    end = at + sum(len(line) for line in lines[first - 1 : last])
    new = ""
    for one in made:
        new += text[at : one.start] + one.text
        at = one.end
    was, now = lines[first - 1 : last], _LINE.findall(new + text[at:end])
    while len(was) > 1 and len(now) > 1 and was[-1] == now[-1]:
        was, now, last = was[:-1], now[:-1], last - 1
    while len(was) > 1 and len(now) > 1 and was[0] == now[0]:
        was, now, first = was[1:], now[1:], first + 1
    # An empty block would be read as one blank line or as none, so the line above or below comes along.
    if not "".join(now).strip("\r\n") and first > 1:
        now, first = [lines[first - 2], *now], first - 1
    elif not "".join(now).strip("\r\n") and last < len(lines):
        now, last = [*now, lines[last]], last + 1
    block = re.sub(r"(?:\r\n?|\n)\Z", "", "".join(now))
    return Lines(first, last, block) if block and last - first < limit else None


# --- files -------------------------------------------------------------------------------------------------------------------------------------


class Sources:
    """The sources of a report by the path that findings and steps give; a file that only a dataflow passes through is read when it is asked for."""

    def __init__(self, report: Report) -> None:
        self._known: dict[str, Source | None] = {file.path: file.source for file in report.files if file.source is not None or file.error}

    def of(self, path: str) -> Source | None:
        """The source, or ``None`` where it cannot be had."""
        if path not in self._known:
            try:
                self._known[path] = Source.read(path)
            except SourceError:
                self._known[path] = None
        return self._known[path]

    def place(self, at: Finding | Step, unit: Unit = Unit.CODE_POINTS) -> Place:
        """``place`` with the source that belongs to it."""
        return place(at, self.of(at.path), unit)


def root(environment: Mapping[str, str] | None = None) -> str:
    """What paths are relative to: the checkout that the CI service names, or else the working folder."""
    env = os.environ if environment is None else environment
    return env.get("GITHUB_WORKSPACE") or env.get("CI_PROJECT_DIR") or os.getcwd()


def relative(path: str, base: str) -> str:
    """A path below ``base`` relative to it, another one absolute; with forward slashes, and readable whatever its bytes are."""
    inside = _below(os.path.abspath(path), os.path.abspath(base)) or _below(os.path.realpath(path), os.path.realpath(base))
    return _readable(_slashes(inside or os.path.abspath(path)))


def uri(path: str, base: str) -> str:
    """``relative``, percent-encoded; an absolute path as a ``file:`` URI."""
    inside = _below(os.path.abspath(path), os.path.abspath(base)) or _below(os.path.realpath(path), os.path.realpath(base))
    return percent(_slashes(inside)) if inside else Path(os.path.abspath(path)).as_uri()


def percent(path: str) -> str:
    """A path as a part of a URI (RFC 3986): its bytes, but for unreserved characters and slashes, percent-encoded."""
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in os.fsencode(path))


def _below(path: str, base: str) -> str | None:
    try:
        inside = os.path.relpath(path, base)
    except ValueError:  # another drive on Windows
        return None
    return None if inside == os.pardir or inside.startswith(os.pardir + os.sep) else inside


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")


def _readable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

