"""environment.yml: conda's own pins, and the section of pip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lora_lint.dependencies.entries import Entry, Reading, known, parse, specifier
from lora_lint.dependencies.requirements import include_file

_CONDA = re.compile(r"(?:[\w./-]+::)?(?P<name>[\w.-]+)\s*(?P<versions>[=<>!~ ].*)?$")


def read(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """The entries under ``dependencies``."""
    import yaml

    try:
        document = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        reading.problem(file, mark.line + 1 if mark else 0, "not valid YAML")
        return
    for node in _sequence(document, "dependencies"):
        line = node.start_mark.line + 1
        if isinstance(node, yaml.ScalarNode):
            entry = _conda(node.value, line, file)
            if entry is not None:
                yield entry
        for one in _sequence(node, "pip"):
            yield from _pip(one.value, one.start_mark.line + 1, file, reading) if isinstance(one, yaml.ScalarNode) else ()


def _sequence(node: object, key: str) -> list[Any]:
    import yaml

    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key and isinstance(value, yaml.SequenceNode):
                return list(value.value)
    return []


def _pip(text: str, line: int, file: Path, reading: Reading) -> Iterator[Entry]:
    if include := re.match(r"(?:-r|-c|--requirement|--constraint)[= ]*(\S+)$", text):
        yield from include_file(include[1].removeprefix("file:"), line, file, reading)
        return
    if text.startswith("-"):
        return
    try:
        entry = parse(text, line, file)
    except ValueError as error:
        reading.problem(file, line, str(error))
        return
    if entry is not None:
        yield entry


def _conda(text: str, line: int, file: Path) -> Entry | None:
    """``name``, ``name=1.2`` (which means 1.2.*), ``name==1.2``, ``name>=1,<2``, ``channel::name=1.2=build``."""
    match = _CONDA.match(text.strip())
    if match is None:
        return None
    library = "torch" if match["name"] in ("pytorch", "pytorch-gpu", "pytorch-cpu") else known(match["name"])
    if library is None:
        return None
    said = (match["versions"] or "").strip()
    if single := re.match(r"=?\s*([\w.*+!]+)(?:\s*[= ]\s*\S+)?$", said.removeprefix("=") if not said.startswith("==") else ""):
        version = single[1].rstrip("*").rstrip(".")
        versions = specifier(f"=={version}.*") if version else ""
    else:
        versions = specifier(re.sub(r"\s+", "", said.split("|")[0])) if "|" not in said else ""
    return Entry(library, versions or "", line, file)
