"""Modules of the same project, and the files that a script names or that start it, found and read without importing anything."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lora_lint.source import Source, SourceError

if TYPE_CHECKING:
    from lora_lint.triage import Glance

_MAX_TEXT = 256 * 1024
_MAX_LAUNCHERS = 50
_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


def find_root(file: Path) -> Path:
    """The project's root of a file: the nearest folder above it with a project marker, else its own folder."""
    return root_above(file.resolve().parent, _is_marked)


def root_above(folder: Path, marked: Callable[[Path], bool]) -> Path:
    """The nearest folder above, or this one, that is marked as a project's root; else this one."""
    return next((candidate for candidate in (folder, *folder.parents) if marked(candidate)), folder)


def _is_marked(folder: Path) -> bool:
    return any((folder / marker).exists() for marker in _MARKERS)


def roots() -> Callable[[Path], Path]:
    """``find_root`` for many files: each folder is looked at once."""
    marked = cache(_is_marked)

    @cache
    def above(folder: Path) -> Path:
        return root_above(folder.resolve(), marked)

    def root_of(file: Path) -> Path:
        return find_root(file) if file.is_symlink() else above(file.parent)

    return root_of


class Project:
    """The Python modules under ``root``, read lazily; the last ones read are kept, as much text as ``KEPT`` says.

    ``used`` collects the files and folders on which the answers rest; who wants to know empties it before.
    """

    KEPT = 3_000_000

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.glances: dict[Path, Glance] = {}
        self._sources: OrderedDict[Path, Source | None] = OrderedDict()
        self._size = 0
        self._names: dict[Path, frozenset[str]] = {}
        self._found: dict[tuple[Path, str, int], tuple[Path | None, frozenset[str]]] = {}
        self.used: set[str] = set()
        self._texts: dict[Path, str] = {}

    def resolve(self, dotted: str, level: int, importer: Source) -> Source | None:
        """The module that ``from {level dots}{dotted} import ...`` in ``importer`` names.

        Absolute names are looked up beside the importer (as Python does for a script), in the root and in its ``src``. ``None`` where the module
        is not one file of this project, cannot be read, or lies outside the root.
        """
        if importer.file is None:
            return None
        path = self.find(dotted, level, Path(os.path.abspath(importer.file)).parent)
        return self.read(path, importer) if path is not None else None

    def find(self, dotted: str, level: int, here: Path) -> Path | None:
        """The real path of the module that an import in a file of the folder ``here`` names."""
        key = (here, dotted, level)
        if key not in self._found:
            looked: set[str] = set()
            path = next(self._candidates(here, dotted, level, looked), None)
            self._found[key] = path, frozenset(looked | ({str(path)} if path is not None else set()))
        path, used = self._found[key]
        self.used |= used
        return path

    def _candidates(self, here: Path, dotted: str, level: int, looked: set[str]) -> Iterator[Path]:
        if level:
            folders = [here.parents[level - 2] if level > 1 else here] if level - 2 < len(here.parents) else []
        else:
            folders = [here, self.root, self.root / "src"]
        parts = dotted.split(".") if dotted else []
        for folder in folders:
            looked.add(str(folder))
            if parts and self._names_in(folder).isdisjoint((parts[0].casefold(), parts[0].casefold() + ".py")):
                continue
            base = folder.joinpath(*parts)
            candidates = [base / "__init__.py"] if not parts else [base.with_name(base.name + ".py"), base / "__init__.py"]
            for candidate in candidates:
                looked.add(str(candidate.parent))
                try:
                    real = candidate.resolve(strict=True)
                except (OSError, RuntimeError, ValueError):  # RuntimeError: a symlink loop before Python 3.13
                    continue
                if real.is_relative_to(self.root) and real.is_file() and self.read(real, None) is not None:
                    yield real

    def text(self, name: str, importer: Source) -> str | None:
        """The text of a file that a script names, from its own folder or the root. ``None`` where there is none in the project."""
        if importer.file is None:
            return None
        for folder in (Path(os.path.abspath(importer.file)).parent, self.root):
            found = self._text(folder / name)
            if found is not None:
                return found
        return None

    def launchers(self, importer: Source) -> list[tuple[str, str]]:
        """The shell scripts and the Makefile beside a script, each with its text."""
        if importer.file is None:
            return []
        folder = Path(os.path.abspath(importer.file)).parent
        try:
            names = sorted(entry.name for entry in os.scandir(folder) if entry.name == "Makefile" or entry.name.endswith((".sh", ".bash")))
        except OSError:
            return []
        texts = ((name, self._text(folder / name)) for name in names[:_MAX_LAUNCHERS])
        return [(name, text) for name, text in texts if text is not None]

    def _text(self, file: Path) -> str | None:
        try:
            real = file.resolve(strict=True)
            if not real.is_relative_to(self.root) or not real.is_file() or real.stat().st_size > _MAX_TEXT:
                return None
            if real not in self._texts:
                self._texts[real] = real.read_text(encoding="utf-8", errors="replace")
            return self._texts[real]
        except (OSError, RuntimeError, ValueError):
            return None

    def _names_in(self, folder: Path) -> frozenset[str]:
        """What lies in a folder, looked up once: most names that a script imports are no modules of its project."""
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(name.casefold() for name in os.listdir(folder))
            except OSError:
                self._names[folder] = frozenset()
        return self._names[folder]

    def read(self, real: Path, importer: Source | None) -> Source | None:
        """A module by its real path; ``None`` where it cannot be read. The name to show follows the importer's."""
        if real in self._sources:
            self._sources.move_to_end(real)
            source = self._sources[real]
        else:
            try:
                source = Source.read(real)
            except SourceError:
                source = None
            self._sources[real] = source
            self._size += len(source.text) if source is not None else 0
            while self._size > self.KEPT and len(self._sources) > 1:
                _, dropped = self._sources.popitem(last=False)
                self._size -= len(dropped.text) if dropped is not None else 0
        if source is not None and importer is not None:
            source.path = _display(real, importer)
        return source


def _display(real: Path, importer: Source) -> str:
    """The name to show: absolute where the importer's is, else relative to the working directory."""
    if os.path.isabs(importer.path):
        return str(real)
    try:
        return os.path.relpath(real)
    except ValueError:  # another drive on Windows
        return str(real)
