"""Jupyter notebooks: their Python cells as one module, and edits of it put back without touching any other byte.

The module is the code cells in order, each behind a marker line of our own, so that after an edit it is known which line belongs to which cell.
What is not Python (magics, shell lines, help) is *masked* by a placeholder of as many lines; cells of other languages and cells that do not parse
are masked whole, so that they hide no other cell. Nothing here needs nbformat or IPython, and nothing is executed.
"""

from __future__ import annotations

import ast
import codecs
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

from lora_lint.findings import Edit, Position
from lora_lint.source import Source, SourceError, TooLargeError

_BLANKS = re.compile(r"[ \t\r\n]*")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
# Numbers mean nothing here, and `int` refuses those of some thousand digits.
_DECODER = json.JSONDecoder(strict=False, parse_int=float)
# Cell magics whose body is Python that runs in the notebook's own namespace.
_PYTHON_MAGICS = frozenset({"capture", "debug", "prun", "time", "timeit", "python", "python3", "memit", "mprun", "lprun"})
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
# A line that may be IPython's: a magic, a shell command, help; or one that assigns what a magic or a command yields.
_MAGIC = re.compile(r"[ \t]*(?:[%!?,;/].*|(?:\w[\w.*]*|%{1,2}\w+)\?{1,2}[ \t]*)", re.DOTALL)
_ASSIGNED = re.compile(r"[ \t]*(?P<left>[A-Za-z_][\w.\[\]'\", \t]*?)[ \t]*=[ \t]*[%!].*", re.DOTALL)
# `%pip` and its like also work without the percent sign.
_AUTOMAGIC = re.compile(r"[ \t]*(?:alias|cd|conda|config|env|load_ext|ls|mamba|matplotlib|pip|pip3|pwd|run|set_env|uv)[ \t]+\S.*", re.DOTALL)


@dataclass(frozen=True)
class _String:
    """A JSON string: where it stands in the file's text, quotes included, and what it means."""

    start: int
    end: int
    value: str


@dataclass(frozen=True)
class Cell:
    """A code cell: ``number`` among the code cells, from 1; the JSON strings of its source; whether they stand in a list, and where that is.

    ``first`` is its first line in the module, ``lines`` the text of each line without its ending; ``masked`` the lines (from 0) that are not Python,
    with their placeholders; ``closed`` that no edit may touch it; ``problem`` why it does not parse.
    """

    number: int
    start: int
    end: int
    listed: bool
    strings: tuple[_String, ...]
    first: int
    lines: tuple[str, ...]
    masked: Mapping[int, str]
    closed: bool
    problem: SourceError | None = None

    @property
    def text(self) -> str:
        return "".join(string.value for string in self.strings)


class Notebook(Source):
    """A notebook as a module. ``cells`` are its code cells; ``text`` and all positions are the module's, see ``place`` and ``in_file``."""

    max_bytes = 64 * 1024 * 1024  # with the pictures in its outputs

    def __init__(self, raw: str, path: str, *, bom: bytes = b"", file: Path | None = None) -> None:
        self._raw = raw
        self._mark = _unused_mark(raw)
        self.cells = tuple(self._read_cells())
        pieces = [f"{self._marker(cell.number)}\n" + "".join(line + "\n" for line in _masked(cell)) for cell in self.cells]
        super().__init__("".join(pieces), path, bom=bom, file=file)

    @classmethod
    def from_bytes(cls, raw: bytes, path: str, *, file: Path | None = None) -> Notebook:
        """Read the bytes of an .ipynb file. Raises ``SourceError``."""
        if len(raw) > cls.max_bytes:
            raise TooLargeError(f"too large: more than {cls.max_bytes // (1024 * 1024)} MiB")
        bom = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        try:
            return cls(raw[len(bom) :].decode("utf-8"), path, bom=bom, file=file)
        except UnicodeDecodeError as error:
            raise SourceError(f"cannot decode as utf-8: {error.reason}") from None

    # --- from the file to the module ---------------------------------------------------------------------------------------------------------

    def _read_cells(self) -> Iterator[Cell]:
        try:
            document = _DECODER.decode(self._raw)
        except json.JSONDecodeError as error:
            raise SourceError(f"not a notebook: {error.msg}", Position(error.lineno, error.colno)) from None
        except RecursionError:
            raise SourceError("not a notebook: nested too deeply") from None
        if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
            if isinstance(document, dict) and "worksheets" in document:
                raise SourceError("a notebook of format 3 or older: convert it with `jupyter nbconvert --to notebook`")
            raise SourceError("not a notebook: it has no cells")
        if not _is_python(document.get("metadata")):
            return
        number, first = 0, 1
        start = next(start for key, start, _ in _members(self._raw, _skip(self._raw, 0)) if key == "cells")
        for begin, _ in _elements(self._raw, start):
            if self._raw[begin] != "{":
                continue
            spans = {key: (value_start, value_end) for key, value_start, value_end in _members(self._raw, begin)}
            if "source" not in spans or "cell_type" not in spans or _value(self._raw, spans["cell_type"][0]) != "code":
                continue
            number += 1
            cell = self._cell(number, *spans["source"], first + 1)
            first += 1 + len(cell.lines)
            yield cell

    def _cell(self, number: int, start: int, end: int, first: int) -> Cell:
        listed = self._raw[start] == "["
        spans = list(_elements(self._raw, start)) if listed else [(start, end)]
        values = [_value(self._raw, begin) for begin, _ in spans]
        if not all(isinstance(value, str) for value in values):
            raise SourceError(f"not a notebook: the source of code cell {number} is no text")
        strings = tuple(_String(*span, value) for span, value in zip(spans, values, strict=True))
        text = "".join(values)
        lines = tuple(text.split("\n"))
        if "\0" in text or "\r" in text.replace("\r\n", "\n"):
            return Cell(number, start, end, listed, strings, first, lines, self._whole(number, lines), True)
        masked, problem = self._mask(number, lines)
        closed = masked is None
        return Cell(number, start, end, listed, strings, first, lines, self._whole(number, lines) if masked is None else masked, closed, problem)

    def _mask(self, number: int, lines: tuple[str, ...]) -> tuple[dict[int, str] | None, SourceError | None]:
        """The placeholders of the lines of a cell that are not Python; ``None`` where it is not Python at all."""
        masked: dict[int, str] = {}
        opening = next((i for i, line in enumerate(lines) if line.strip()), 0)
        magic = _CELL_MAGIC.match(lines[opening])
        if magic is not None:
            if magic[1] not in _PYTHON_MAGICS:
                return None, None
            masked[opening] = self._placeholder(number, opening, "")
        for _ in range(len(lines) + 1):
            shown = [masked.get(i, line) for i, line in enumerate(lines)]
            complaint = _complaint("\n".join(shown))
            if complaint is None:
                return masked, None
            at = (complaint.position or Position(1, 1)).line - 1
            # The parser may stumble over the line behind, or over one that continues a command.
            head = at
            while 0 < head < len(lines) and lines[head - 1].rstrip("\r").endswith("\\"):
                head -= 1
            suspect = next((i for i in (at, head, at - 1) if 0 <= i < len(lines) and i not in masked and _foreign(lines[i])), None)
            if suspect is None:
                return None, complaint
            masked.update(self._placeholders(number, suspect, lines))
        return None, complaint

    def _placeholders(self, number: int, at: int, lines: tuple[str, ...]) -> dict[int, str]:
        """Placeholders for a magic line and the lines that it goes on with."""
        assigned = _ASSIGNED.fullmatch(lines[at])
        indent = re.match(r"[ \t]*", lines[at])
        before = indent[0] if indent else ""
        found = {at: self._placeholder(number, at, f"{before}{assigned['left']} = ...  " if assigned else f"{before}pass  ")}
        while lines[at].rstrip("\r").endswith("\\") and at + 1 < len(lines):
            at += 1
            found[at] = self._placeholder(number, at, "")
        return found

    def _whole(self, number: int, lines: tuple[str, ...]) -> dict[int, str]:
        return {i: self._placeholder(number, i, "") for i in range(len(lines))}

    def _marker(self, number: int) -> str:
        return f"# {self._mark} {number}"

    def _placeholder(self, number: int, line: int, code: str) -> str:
        return f"{code}# {self._mark} {number}.{line}"

    # --- positions ---------------------------------------------------------------------------------------------------------------------------

    @cached_property
    def _firsts(self) -> list[int]:
        return [cell.first for cell in self.cells]

    def cell_at(self, line: int) -> tuple[Cell, int] | None:
        """The cell that a line of the module belongs to, and its line in there, from 1; ``None`` for a line that is in no cell."""
        index = bisect_right(self._firsts, line) - 1
        if index < 0 or line - self.cells[index].first >= len(self.cells[index].lines):
            return None
        return self.cells[index], line - self.cells[index].first + 1

    def place(self, position: Position) -> tuple[int | None, Position]:
        """The number of the cell that a position of the module lies in, and the position in that cell."""
        found = self.cell_at(position.line)
        return (None, position) if found is None else (found[0].number, Position(found[1], position.column))

    def line_name(self, line: int) -> str:
        """What people call a line of the module: ``cell 3:2``."""
        found = self.cell_at(line)
        return f"cell {found[0].number}:{found[1]}" if found else str(line)

    def in_file(self, position: Position) -> Position:
        """A position of the module in the .ipynb file itself, as an editor shows that: inside the JSON string that spells it."""
        found = self.cell_at(position.line)
        if found is None:
            return Position(1, 1)
        cell, line = found
        wanted = sum(len(text) + 1 for text in cell.lines[: line - 1]) + position.column - 1
        for string in cell.strings:
            if wanted <= len(string.value) - (string.value.endswith("\n") and string is not cell.strings[-1]):
                return self._raw_position(string.start + 1 + _spelled(self._raw, string, wanted))
            wanted -= len(string.value)
        return self._raw_position(cell.end - 1)

    def _raw_position(self, at: int) -> Position:
        line = bisect_right(self._raw_lines, at)
        return Position(line, at - self._raw_lines[line - 1] + 1)

    @cached_property
    def _raw_lines(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer(r"\r\n?|\n", self._raw))]

    def line(self, number: int) -> str:
        """The text of a line of the module as it stands in its cell, not as it is masked."""
        found = self.cell_at(number)
        return found[0].lines[found[1] - 1].rstrip("\r") if found else ""

    @property
    def problems(self) -> list[SourceError]:
        """Why cells do not parse, with positions in the module."""
        found = []
        for cell in self.cells:
            if cell.problem is not None:
                place = cell.problem.position or Position(1, 1)
                found.append(SourceError(cell.problem.message, Position(cell.first + place.line - 1, place.column)))
        return found

    def shown(self, text: str) -> str:
        """Lines of the module (after an edit, too) as they stand in the cells: markers gone, placeholders undone."""
        kept = [line for line in text.split("\n") if not re.fullmatch(rf"# {self._mark} \d+\r?", line)]
        return "\n".join(self._unmasked(line) for line in kept)

    @cached_property
    def original(self) -> str:
        """The module with magics and shell lines as they stand, line for line."""
        return "".join(self._marker(cell.number) + "\n" + "".join(line + "\n" for line in cell.lines) for cell in self.cells)

    # --- from the module to the file ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _closed(self) -> list[tuple[int, int]]:
        """The byte ranges of the module that no edit may touch: masked lines, and the markers with the line ending before them."""
        ranges = []
        for cell in self.cells:
            numbers = [cell.first - 1, *(cell.first + i for i in cell.masked)]
            ranges += [(self.line_offsets[number - 1], self.line_offsets[number] - 1) for number in numbers]
        return sorted(ranges)

    def editable(self, edit: Edit) -> bool:
        """Whether an edit lies in one cell, off the masked lines; whole lines before a marker belong to the cell above."""
        whole = edit.text.endswith("\n") or (not edit.text and self.data[edit.start - 1 : edit.start] == b"\n")
        for start, end in self._closed:
            if edit.end == start:
                if not whole or start == 0 or _CELL_MAGIC.match(self.line(self.position(start).line)):
                    return False
            elif edit.start <= end and start <= edit.end:
                return False
        return True

    def encode(self, text: str) -> bytes:
        """The file with the cells as ``text``, an edited module, has them. Raises ``SourceError`` where a cell's marker is gone."""
        parts = re.split(rf"^# {self._mark} (\d+)\n", text, flags=re.MULTILINE)
        if parts[0] or [int(number) for number in parts[1::2]] != [cell.number for cell in self.cells]:
            raise SourceError("an edit crosses the cells of the notebook")
        raw = self._raw
        for cell, part in reversed(list(zip(self.cells, parts[2::2], strict=True))):
            lines = part.removesuffix("\n").split("\n")
            fresh = "\n".join(lines) if cell.closed else "\n".join(self._unmasked(line) for line in lines)
            if not cell.closed and fresh != cell.text:
                raw = raw[: cell.start] + self._spell(cell, fresh) + raw[cell.end :]
        return self.bom + raw.encode("utf-8")

    def _unmasked(self, line: str) -> str:
        """A line with the original back in the place of its placeholder."""
        found = re.search(rf"# {self._mark} (\d+)\.(\d+)\r?$", line)
        return self.cells[int(found[1]) - 1].lines[int(found[2])] if found else line

    def _spell(self, cell: Cell, text: str) -> str:
        """A cell's new source as JSON, in the style of the old one; lines that did not change keep their very bytes."""
        if not cell.listed:
            return self._quoted(text)
        lines = text.split("\n")
        values = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
        if not values:
            return "[]"
        old = cell.strings
        before, behind, between = self._gaps(cell)
        tokens: list[str] = []
        for kind, a, b, c, d in SequenceMatcher(None, [string.value for string in old], values, autojunk=False).get_opcodes():
            if kind == "equal":
                tokens += [self._raw[string.start : string.end] for string in old[a:b]]
            else:
                tokens += [self._quoted(value) for value in values[c:d]]
        return "[" + before + between.join(tokens) + behind + "]"

    def _gaps(self, cell: Cell) -> tuple[str, str, str]:
        """What stands before the first line of a listed source, behind the last, and between two."""
        if not cell.strings:
            return "", "", ", "
        before = self._raw[cell.start + 1 : cell.strings[0].start]
        behind = self._raw[cell.strings[-1].end : cell.end - 1]
        if len(cell.strings) > 1:
            return before, behind, self._raw[cell.strings[0].end : cell.strings[1].start]
        return before, behind, "," + (before or " ")

    def _quoted(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self._raw.isascii())


def _masked(cell: Cell) -> Iterator[str]:
    for i, line in enumerate(cell.lines):
        yield cell.masked.get(i, line)


def _unused_mark(raw: str) -> str:
    """A word that the file does not have."""
    number = 0
    while f"lora-lint-cell{number or ''} " in raw:
        number += 1
    return f"lora-lint-cell{number or ''}"


def _is_python(metadata: object) -> bool:
    """Whether the kernel speaks Python, or the notebook does not say."""
    if not isinstance(metadata, dict):
        return True
    for table, key in (("kernelspec", "language"), ("language_info", "name")):
        entry = metadata.get(table)
        if isinstance(entry, dict) and isinstance(entry.get(key), str):
            return bool(entry[key].lower() in ("python", "ipython", "python3"))
    return True


def _foreign(line: str) -> bool:
    return any(form.fullmatch(line.rstrip("\r")) for form in (_ASSIGNED, _MAGIC, _AUTOMAGIC))


def _complaint(text: str) -> SourceError | None:
    """What CPython says against a cell."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return SourceError(f"syntax error: {error.msg}", Position(max(error.lineno or 1, 1), max(error.offset or 1, 1)))
    except (ValueError, RecursionError, MemoryError):
        return SourceError("nested too deeply to be analysed", None)
    return None


# --- JSON, with places ---------------------------------------------------------------------------------------------------------------------------


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> Any:
    return _DECODER.raw_decode(text, at)[0]


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """The members of the object that starts at ``at``: key, and where the value starts and ends. The text is known to be JSON."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield key, start, end
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Where each element of the array that starts at ``at`` starts and ends."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _spelled(text: str, string: _String, count: int) -> int:
    """How many characters of the file spell the first ``count`` characters of a JSON string."""
    at = string.start + 1
    done = 0
    while done < count:
        if text[at] == "\\":
            found = _ESCAPE.match(text, at)
            assert found is not None  # the text is known to be JSON
            high = found[0][:2] == "\\u" and 0xD800 <= int(found[0][2:], 16) < 0xDC00
            at = found.end()
            if high and (low := _ESCAPE.match(text, at)) and low[0][:2] == "\\u" and 0xDC00 <= int(low[0][2:], 16) < 0xE000:
                at = low.end()
        else:
            at += 1
        done += 1
    return at - string.start - 1
