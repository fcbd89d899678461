"""Requirements files, as pip reads them: continuation lines, comments, options, ``-r`` and ``-c``.

``pip-requirements-parser`` was measured and not taken: 5 s for 10,000 lines, files that include each other are read until the stack is full, and a
requirement over several lines gets the number of the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lora_lint.dependencies.entries import Entry, Reading, parse

_COMMENT = re.compile(r"(^|\s)#.*$")
_OPTION = re.compile(r"\s--?(?:hash|config-settings?|global-option|install-option|no-binary|only-binary)[= ].*$")
_INCLUDE = re.compile(r"(?:-r|-c|--requirement|--constraint)(?:\s*=\s*|\s*)(?P<name>\S.*)$")
_EDITABLE = re.compile(r"(?:-e|--editable)(?:\s*=\s*|\s+)(?P<what>\S.*)$")
_VARIABLE = re.compile(r"\$\{[A-Z0-9_]+\}")


def read(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """The entries of a file and of those that it includes; each file is read once."""
    yield from _read(text, file, reading, {_real(file)})


def _read(text: str, file: Path, reading: Reading, seen: set[Path]) -> Iterator[Entry]:
    for line, row in logical_lines(text):
        if include := _INCLUDE.match(row):
            yield from include_file(include["name"].strip("\"'"), line, file, reading, seen)
            continue
        try:
            entry = _entry(row, line, file)
        except ValueError as error:
            reading.problem(file, line, str(error))
            continue
        if entry is not None:
            yield entry


def include_file(name: str, line: int, file: Path, reading: Reading, seen: set[Path] | None = None) -> Iterator[Entry]:
    """The entries of a file that another one names; a URL is not fetched."""
    seen = {_real(file)} if seen is None else seen
    if "://" in name or _VARIABLE.search(name) or "\0" in name:
        return
    target = file.parent / name
    real = _real(target)
    if real in seen:
        return
    seen.add(real)
    if not target.exists():
        reading.problem(file, line, f"no such file: {name}")
        return
    text = reading.text(target)
    if text is not None:
        yield from _read(text, target, reading, seen)


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments, continued ones joined, each with the number of its first line."""
    start, parts = 0, []
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        start = start or number
        if line.endswith("\\") and not _COMMENT.match(line):
            parts.append(line[:-1])
            continue
        row = _COMMENT.sub("", "".join([*parts, line])).strip()
        if row:
            yield start, row
        start, parts = 0, []
    if parts and (row := _COMMENT.sub("", "".join(parts)).strip()):
        yield start, row


def _entry(row: str, line: int, file: Path) -> Entry | None:
    if editable := _EDITABLE.match(row):
        row = editable["what"]
    elif row.startswith("-") or _VARIABLE.search(row):
        return None
    row = _OPTION.sub("", row)
    return parse(row, line, file)


def _real(file: Path) -> Path:
    try:
        return file.resolve()
    except (OSError, RuntimeError, ValueError):
        return file
