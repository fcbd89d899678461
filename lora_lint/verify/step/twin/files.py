"""Files: what the script writes elsewhere goes into the scratch folder and is read there again; missing data is made where it can be known."""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from . import rows
from .common import Twin
from .datasets import shorten
from .paths import is_path

_DATA = re.compile(r"\.(json|jsonl|csv|tsv|txt)$", re.IGNORECASE)


def install(twin: Twin) -> None:
    """Patch what opens, makes and deletes files."""
    files = _Files(twin)
    wrap = twin.patches.wrap
    opened = files.opened(builtins.open)
    twin.patches.set(builtins, "open", opened)
    twin.patches.set(io, "open", opened)
    wrap(os, "mkdir", files.made)
    wrap(os, "makedirs", files.made)
    for name in ("exists", "isfile", "isdir"):
        wrap(os.path, name, files.tested)
    for name in ("exists", "is_file", "is_dir"):
        wrap(Path, name, files.tested)
    for owner, name in ((os, "listdir"), (os, "scandir")):
        wrap(owner, name, files.listed)
    for owner, name in ((os, "remove"), (os, "unlink"), (os, "rmdir"), (shutil, "rmtree")):
        wrap(owner, name, files.removed)
    wrap(json, "load", files.loaded)
    twin.when("torch.serialization", files.patch_torch)
    twin.when("safetensors.torch", files.patch_safetensors)
    twin.when("pandas.io.api", files.patch_pandas)
    twin.when("pandas", files.patch_pandas)


class _Files:
    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self._made: dict[str, str] = {}

    def _outside(self, path: Any) -> str | None:
        """Where a path that may not be written to is written instead; ``None`` for one that may, and for what is no path."""
        if not is_path(path):
            return None
        place = self._twin.paths.redirected(path)
        return None if place == os.fsdecode(path) else place

    def opened(self, original: Any) -> Callable[..., Any]:
        """``open``."""
        twin = self._twin

        def open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:  # noqa: A001
            if not is_path(file):
                return original(file, mode, *args, **kwargs)
            if not {"w", "a", "x", "+"}.isdisjoint(mode):
                place = self._outside(file)
                if place is not None:
                    twin.off(f"writing {os.fsdecode(file)}")
                    _makedirs(os.path.dirname(place), exist_ok=True)
                    file = place
                return original(file, mode, *args, **kwargs)
            try:
                return original(file, mode, *args, **kwargs)
            except FileNotFoundError:
                place = twin.paths.found(file) or (self._data(os.fsdecode(file)) if twin.by_user() else None)
                if place is None:
                    raise
            return original(place, mode, *args, **kwargs)

        return open

    def made(self, original: Any) -> Callable[..., Any]:
        """``mkdir`` and ``makedirs``."""

        def make(name: Any, *args: Any, **kwargs: Any) -> Any:
            place = self._outside(name)
            if place is None:
                return original(name, *args, **kwargs)
            if _exists(name):
                if kwargs.get("exist_ok"):
                    return None
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(name))
            _makedirs(os.path.dirname(place), exist_ok=True)
            return _makedirs(place, exist_ok=bool(kwargs.get("exist_ok")))

        return make

    def tested(self, original: Any) -> Callable[..., bool]:
        """``exists`` and the like."""

        def test(path: Any, *args: Any, **kwargs: Any) -> bool:
            if original(path, *args, **kwargs):
                return True
            if not is_path(path) or not self._twin.by_user():
                return False
            place = self._twin.paths.found(path)
            return place is not None and bool(original(type(path)(place) if isinstance(path, Path) else place))

        return test

    def listed(self, original: Any) -> Callable[..., Any]:
        """``listdir`` and ``scandir``."""

        def list_folder(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            try:
                return original(path, *args, **kwargs)
            except FileNotFoundError:
                place = self._twin.paths.found(path) if is_path(path) else None
                if place is None:
                    raise
            return original(place, *args, **kwargs)

        return list_folder

    def removed(self, original: Any) -> Callable[..., Any]:
        """``remove`` and the like: nothing is deleted outside."""

        def remove(path: Any, *args: Any, **kwargs: Any) -> Any:
            place = None if kwargs.get("dir_fd") is not None else self._outside(path)
            if place is None:
                return original(path, *args, **kwargs)
            if _exists(place):
                return original(place, *args, **kwargs)
            self._twin.off(f"deleting {os.fsdecode(path)}")
            return None

        return remove

    # Data

    def _data(self, path: str) -> str | None:
        """A file of synthetic rows for one that is missing, where the script's columns are known."""
        twin = self._twin
        if not _DATA.search(path):
            return None
        line = twin.record.line()
        plain = _plain_columns(path, twin.source)
        if not plain and not rows.is_known(twin, line):
            twin.off(f"reading {path}: there is no such file here, and nothing tells what would be in it")
            return None
        if path not in self._made:
            place = os.path.join(twin.root, "data", "missing", str(len(self._made)), os.path.basename(path))
            _makedirs(os.path.dirname(place))
            table = rows.table(twin, plain or rows.guessed(twin, line), twin.rows)
            lines = [dict(zip(table, values)) for values in zip(*table.values())]
            with _open(place, "w", encoding="utf-8") as stream:
                stream.write(_lines(lines) if plain else _text(path, lines, twin))
            self._made[path] = place
            twin.replaced("file", path, f"{len(lines)} synthetic rows of {', '.join(table)}")
        return self._made[path]

    def loaded(self, original: Any) -> Callable[..., Any]:
        """``json.load``: rows that were made here have any column that they are asked for."""

        def load(fp: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(fp, *args, **kwargs)
            if getattr(fp, "name", None) in self._made.values() and isinstance(found, list):
                return [rows.open_row(self._twin, row, number) if isinstance(row, dict) else row for number, row in enumerate(found)]
            return found

        return load

    def patch_pandas(self, module: ModuleType) -> None:
        """The functions of pandas that read."""
        readers = {"read_csv": "csv", "read_json": "json", "read_parquet": "parquet", "read_excel": "xlsx", "read_table": "tsv"}
        for name, extension in readers.items():
            if name in vars(module) and not hasattr(vars(module)[name], "_of_the_twin"):
                self._twin.wrap(module, name, lambda original, extension=extension: self._read(original, extension))  # type: ignore[misc]
                vars(module)[name]._of_the_twin = True

    def _read(self, original: Any, extension: str) -> Callable[..., Any]:
        twin = self._twin

        def read(path: Any = None, *args: Any, **kwargs: Any) -> Any:
            if not is_path(path) or not twin.by_user() or "://" in os.fsdecode(path)[:12]:
                return original(path, *args, **kwargs)
            found = twin.paths.found(path)
            if found is None:
                import pandas

                columns = rows.guessed(twin, twin.record.line())
                if not rows.is_known(twin, twin.record.line()):
                    return original(path, *args, **kwargs)
                twin.replaced("file", path, f"{twin.rows} synthetic rows of {', '.join(columns)}")
                return pandas.DataFrame(rows.table(twin, columns, twin.rows))
            if twin.paths.inside(found) or extension == "xlsx":
                return original(found, *args, **kwargs)
            place = os.path.join(twin.root, "data", "read", str(len(self._made)), os.path.basename(found))
            self._made[f"{found} {len(self._made)}"] = place
            _makedirs(os.path.dirname(place))
            shorten(found, place, twin.rows)
            twin.replaced("file", path, f"its first {twin.rows} rows")
            return original(place, *args, **kwargs)

        return read

    # Weights

    def patch_torch(self, module: ModuleType) -> None:
        """``torch.save`` and ``torch.load``."""
        import torch

        twin = self._twin

        def save(original: Any) -> Callable[..., Any]:
            def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
                return original(obj, self._written(f), *args, **kwargs)

            return save

        def load(original: Any) -> Callable[..., Any]:
            def load(f: Any, *args: Any, **kwargs: Any) -> Any:
                return original(twin.paths.found(f) or f if is_path(f) else f, *args, **kwargs)

            return load

        for name, make in (("save", save), ("load", load)):
            for owner in (module, torch):
                twin.wrap(owner, name, make)

    def patch_safetensors(self, module: ModuleType) -> None:
        """The functions of safetensors that write."""

        def make(original: Any) -> Callable[..., Any]:
            def save(tensors: Any, filename: Any, *args: Any, **kwargs: Any) -> Any:
                return original(tensors, self._written(filename), *args, **kwargs)

            return save

        for name in ("save_file", "save_model"):
            self._twin.wrap(module, name, make)

    def _written(self, path: Any) -> Any:
        place = self._outside(path)
        if place is None:
            return path
        self._twin.off(f"writing {os.fsdecode(path)}")
        _makedirs(os.path.dirname(place), exist_ok=True)
        return place


_exists, _makedirs, _open = os.path.exists, os.makedirs, builtins.open  # as they are now


def _plain_columns(path: str, source: str) -> list[str]:
    """The columns of a file that the script reads as lines: a text, or as many texts as it splits a line at tabs into; empty for others."""
    if path.lower().endswith(".txt"):
        return ["text"]
    if not path.lower().endswith(".tsv") or "DictReader" in source or "read_csv" in source:
        return []
    split = re.search(r"""([\w, ]+?)\s*(?:=|\bin\b)[^=\n]*split\(\s*(?:sep=)?["']\\t["']""", source)
    names = [name.strip() for name in split[1].split(",") if name.strip()] if split else []
    return [f"text_{number}" for number in range(max(len(names), 2))]


def _lines(table: list[dict[str, Any]]) -> str:
    """Rows as lines, their values between tabs."""
    return "".join("\t".join(str(value) for value in row.values()) + "\n" for row in table)


def _text(path: str, lines: list[dict[str, Any]], twin: Twin) -> str:
    """Rows as the contents of a file of its kind."""
    extension = path.rpartition(".")[2].lower()
    if extension in ("csv", "tsv"):
        mark = "," if extension == "csv" else "\t"
        return "\n".join(mark.join(str(value) for value in line) for line in [list(lines[0]), *(line.values() for line in lines)]) + "\n"
    by_line = extension == "jsonl" or (twin.mentions(r"json\.loads\(") and not twin.mentions(r"json\.load\("))
    return "".join(json.dumps(line) + "\n" for line in lines) if by_line else json.dumps(lines)
