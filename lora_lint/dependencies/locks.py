"""Lock files: uv.lock, poetry.lock, pdm.lock, pylock.toml (PEP 751), Pipfile.lock, conda-lock.

They can have megabytes, of which a handful of lines concern us: the text is cut at the heads of its entries, and only those of known libraries
are parsed. So a broken entry loses itself alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from lora_lint import _toml
from lora_lint.dependencies.entries import Entry, Reading, known, marker, pin, url_version
from lora_lint.target import LIBRARIES

_HEAD = re.compile(r"^\[\[(?:package|packages)\]\][ \t]*\r?$", re.MULTILINE)
_NAME = re.compile(r"""^name[ \t]*=[ \t]*["']([^"'\n]+)["']""", re.MULTILINE)
_JSON = re.compile(rf"""^[ \t]*"({"|".join(LIBRARIES)})"[ \t]*:[ \t]*\{{""", re.MULTILINE | re.IGNORECASE)
_YAML = re.compile(r"^- name:[ \t]*(\S+)[ \t]*\r?\n(?P<body>(?:[ \t]+.*(?:\n|\Z))*)", re.MULTILINE)
_YAML_VERSION = re.compile(r"""^[ \t]+version:[ \t]*['"]?([^'"\s]+)""", re.MULTILINE)


def read_toml(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """uv.lock, poetry.lock, pdm.lock, pylock.toml: tables ``[[package]]`` or ``[[packages]]`` with a name and a version."""
    heads = [match.start() for match in _HEAD.finditer(text)]
    if not heads and text.strip() and not _parses(text):
        reading.problem(file, 0, "not valid TOML")
    line, before = 1, 0
    for start, end in zip(heads, [*heads, len(text)][1:], strict=True):
        line += text.count("\n", before, start)
        before = start
        named = _NAME.search(text, start, end)
        library = known(named[1]) if named else None
        if library is None:
            continue
        try:
            tables = _toml.loads(text[start:end])
        except _toml.TOMLDecodeError:
            reading.problem(file, line, f"the entry of {library} is not valid TOML")
            continue
        table = next(iter(tables.values()))[0]
        versions = pin(table.get("version"))
        if versions is None:
            source = table.get("source") or table.get("vcs") or table.get("archive") or {}
            where = source.get("git") or source.get("url") or "" if isinstance(source, dict) else ""
            versions = url_version(str(where))
        marks = table.get("resolution-markers") or table.get("marker") or table.get("markers")
        if isinstance(marks, list):
            marks = " or ".join(f"({one})" for one in marks if isinstance(one, str))
        yield Entry(library, versions, line, file, marker(marks), "", alternatives=True)


def _parses(text: str) -> bool:
    try:
        _toml.loads(text)
    except _toml.TOMLDecodeError:
        return False
    return True


def read_pipfile(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """Pipfile.lock: JSON with a table of packages for each section; those of ``develop`` are a group."""
    decoder = json.JSONDecoder()
    develop = text.find('"develop"')
    for match in _JSON.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        try:
            table, _ = decoder.raw_decode(text, match.end() - 1)
        except (ValueError, RecursionError):
            reading.problem(file, line, f"the entry of {match[1]} is not valid JSON")
            continue
        version = table.get("version")
        versions = version if isinstance(version, str) and version.startswith("==") else url_version(f"{table.get('git', '')}@{table.get('ref', '')}")
        group = "develop" if 0 <= develop < match.start() else ""
        yield Entry(match[1].lower(), versions, line, file, marker(table.get("markers")), group)


def read_conda(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """conda-lock.yml: a list of packages, one for each platform, conda's and pip's alike."""
    if not _YAML.search(text):
        reading.problem(file, 0, "no packages found in it")
    for match in _YAML.finditer(text):
        name = match[1].strip("\"'")
        library = "torch" if name == "pytorch" else known(name)
        version = _YAML_VERSION.search(match["body"])
        versions = pin(version[1]) if library and version else None
        if library and versions:
            yield Entry(library, versions, text.count("\n", 0, match.start()) + 1, file, alternatives=True)
