"""pyproject.toml: PEP 621 dependencies, extras, dependency groups (PEP 735), Poetry's and PDM's tables, uv's constraints; and Pipfile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lora_lint import _toml
from lora_lint.dependencies.entries import Entry, Lines, Reading, known, marker, pin, requirements, specifier, url_version

_CARET = re.compile(r"([\^~])[ \t]*(\d+(?:\.\d+)*)([\w.+-]*)$")


def read(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """The entries of a pyproject.toml, and the project itself where it is one of the libraries."""
    data = _load(text, file, reading)
    if data is None:
        return
    lines = Lines(text)
    project, tool = _table(data, "project"), _table(data, "tool")
    poetry = _table(tool, "poetry")
    yield from itself(project.get("name") or poetry.get("name"), project.get("version") or poetry.get("version"), lines, file)
    yield from requirements(_list(project, "dependencies"), lines, file, reading)
    uv = _table(tool, "uv")
    for key in ("constraint-dependencies", "override-dependencies"):
        yield from requirements(_list(uv, key), Lines(text), file, reading)
    for name, texts in _table(project, "optional-dependencies").items():
        yield from requirements(texts if isinstance(texts, list) else (), Lines(text), file, reading, f"extra {name}")
    groups = _table(data, "dependency-groups")
    for name in groups:
        yield from requirements(_group(groups, name, set()), Lines(text), file, reading, f"group {name}")
    for name, texts in _table(_table(tool, "pdm"), "dev-dependencies").items():
        yield from requirements(texts if isinstance(texts, list) else (), Lines(text), file, reading, f"group {name}")
    yield from _poetry(_table(poetry, "dependencies"), "[tool.poetry.dependencies]", "", text, file, reading)
    yield from _poetry(_table(poetry, "dev-dependencies"), "[tool.poetry.dev-dependencies]", "group dev", text, file, reading)
    for name, group in _table(poetry, "group").items():
        if isinstance(group, dict):
            yield from _poetry(_table(group, "dependencies"), f"[tool.poetry.group.{name}.dependencies]", f"group {name}", text, file, reading)


def read_pipfile(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """The entries of a Pipfile."""
    data = _load(text, file, reading)
    if data is not None:
        yield from _poetry(_table(data, "packages"), "[packages]", "", text, file, reading)
        yield from _poetry(_table(data, "dev-packages"), "[dev-packages]", "group dev", text, file, reading)


def pythons(text: str) -> str:
    """The ``requires-python`` of a pyproject.toml, or what Poetry says of it; empty where there is none."""
    try:
        data = _toml.loads(text)
    except _toml.TOMLDecodeError:
        return ""
    said = _table(data, "project").get("requires-python") or _table(_table(_table(data, "tool"), "poetry"), "dependencies").get("python")
    return _versions(said) or "" if isinstance(said, str) else ""


def itself(name: object, version: object, lines: Lines, file: Path) -> Iterator[Entry]:
    """A project that is one of the libraries is its own pin."""
    library = known(name) if isinstance(name, str) else None
    versions = pin(version) if library and isinstance(version, str) else None
    if library and versions:
        yield Entry(library, versions, lines.of("version", str(version)), file)


def _load(text: str, file: Path, reading: Reading) -> dict[str, Any] | None:
    try:
        return _toml.loads(text)
    except (_toml.TOMLDecodeError, RecursionError) as error:
        reading.problem(file, 0, f"not valid TOML: {' '.join(str(error).split())[:150]}")
        return None


def _group(groups: dict[str, Any], name: str, seen: set[str]) -> Iterator[object]:
    """The requirements of a dependency group and of those that it includes."""
    seen.add(name)
    texts = groups.get(name)
    for one in texts if isinstance(texts, list) else ():
        include = one.get("include-group") if isinstance(one, dict) else None
        if isinstance(include, str):
            if include not in seen:
                yield from _group(groups, include, seen)
        else:
            yield one


def _poetry(table: dict[str, Any], head: str, group: str, text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """A table from names to versions: ``"^1.2"``, or a table with a version, a git tag or a marker, or several of these."""
    for name, value in table.items():
        library = known(name)
        if library is None:
            continue
        line = Lines(text).of(head, f"\n{name}") if head in text else Lines(text).of(name)
        line += 1 if head in text else 0
        for one in value if isinstance(value, list) else [value]:
            said = one.get("version", "") if isinstance(one, dict) else one
            versions = _versions(said) if isinstance(said, str) else ""
            if versions is None:
                reading.problem(file, line, f"not a version of {name}: {said!r}")
                continue
            if isinstance(one, dict) and not versions and (one.get("tag") or one.get("url")):
                versions = url_version(f"@{one['tag']}" if one.get("tag") else str(one["url"]))
            marks = _marker(one) if isinstance(one, dict) else None
            yield Entry(library, versions, line, file, marker(marks), group)


def _marker(table: dict[str, Any]) -> str:
    marks = [f"({table[key]})" for key in ("markers",) if isinstance(table.get(key), str)]
    python = _versions(table["python"]) if isinstance(table.get("python"), str) else None
    marks += [f"python_full_version {one.operator} '{one.version}'" for one in _specifiers(python)]
    return " and ".join(marks)


def _specifiers(text: str | None) -> Any:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(text or "")


def _versions(text: str) -> str | None:
    """Poetry's versions as a specifier set: ``^1.2.3``, ``~1.2``, ``1.2.*``, ``1.2.3``, ``*``, and alternatives by their hull."""
    alternatives = [_all(part) for part in re.split(r"\|\|?", text)]
    if any(one is None for one in alternatives):
        return None
    return alternatives[0] if len(alternatives) == 1 else ""  # of alternatives nothing is said, which is wide enough


def _all(text: str) -> str | None:
    parts = []
    for one in re.split(r"\s*,\s*|(?<=[\w*])\s+(?=[<>=!~^])", text.strip()):
        if one in ("", "*"):
            continue
        if match := _CARET.match(one):
            numbers = [int(number) for number in match[2].split(".")]
            first = next((i for i, number in enumerate(numbers) if number), len(numbers) - 1)
            index = first if match[1] == "^" else min(len(numbers) - 1, 1)
            upper = ".".join(str(number) for number in [*numbers[:index], numbers[index] + 1])
            parts.append(f">={match[2]}{match[3]},<{upper}")
        else:
            parts.append(one if one[0] in "<>=!~" else f"=={one}")
    return specifier(",".join(parts))


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _list(data: dict[str, Any], key: str) -> list[object]:
    value = data.get(key)
    return value if isinstance(value, list) else []
