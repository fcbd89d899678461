"""setup.cfg, and setup.py where it is literal: it is parsed, never run."""

from __future__ import annotations

import ast
import configparser
import warnings
from collections.abc import Iterator
from pathlib import Path

from lora_lint.dependencies.entries import Entry, Lines, Reading, requirements
from lora_lint.dependencies.pyproject import itself


def read_cfg(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """``[options] install_requires`` and ``[options.extras_require]``."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        reading.problem(file, 0, f"not a valid setup.cfg: {' '.join(str(error).split())[:150]}")
        return
    yield from itself(parser.get("metadata", "name", fallback=None), parser.get("metadata", "version", fallback=None), Lines(text), file)
    lines = Lines(text)
    yield from requirements(_rows(parser.get("options", "install_requires", fallback="")), lines, file, reading)
    if parser.has_section("options.extras_require"):
        for name, value in parser.items("options.extras_require"):
            yield from requirements(_rows(value), Lines(text), file, reading, f"extra {name}")


def _rows(value: str) -> list[object]:
    return [row.strip() for row in value.splitlines() if row.strip() and not row.strip().startswith(("#", "file:"))]


def read_py(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """``install_requires`` and ``extras_require`` of the call of ``setup``, as far as they are literals or names of literals."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        reading.problem(file, 0, "not valid Python")
        return
    names = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (getattr(node.func, "id", "") == "setup" or getattr(node.func, "attr", "") == "setup"):
            given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            yield from itself(_literal(given.get("name"), names), _literal(given.get("version"), names), Lines(text), file)
            yield from requirements(_texts(given.get("install_requires"), names), Lines(text), file, reading)
            extras = _follow(given.get("extras_require"), names)
            for key, value in zip(extras.keys, extras.values, strict=True) if isinstance(extras, ast.Dict) else ():
                name = _literal(key, names)
                yield from requirements(_texts(value, names), Lines(text), file, reading, f"extra {name}")


def _follow(node: ast.expr | None, names: dict[str, ast.expr], depth: int = 5) -> ast.expr | None:
    """The literal that a name stands for."""
    while isinstance(node, ast.Name) and depth:
        node, depth = names.get(node.id), depth - 1
    return node


def _literal(node: ast.expr | None, names: dict[str, ast.expr]) -> str | None:
    node = _follow(node, names)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _texts(node: ast.expr | None, names: dict[str, ast.expr], depth: int = 5) -> list[object]:
    """The strings of a list, tuple, or sum of such."""
    node = _follow(node, names)
    if isinstance(node, (ast.List, ast.Tuple)):
        found: list[object] = []
        for one in node.elts:
            found += _texts(one.value, names, depth - 1) if isinstance(one, ast.Starred) and depth else [_literal(one, names)]
        return found
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and depth:
        return _texts(node.left, names, depth - 1) + _texts(node.right, names, depth - 1)
    return []
