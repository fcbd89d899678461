"""Modules of the same project, and the files that a script names or that start it, found and read without importing anything."""

from __future__ import annotations

import os
from pathlib import Path

from lora_lint.source import Source, SourceError

_MAX_TEXT = 256 * 1024
_MAX_LAUNCHERS = 50
_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


def find_root(file: Path) -> Path:
    """The project's root of a file: the nearest folder above it with a project marker, else its own folder."""
    folder = file.resolve().parent
    for candidate in (folder, *folder.parents):
        if any((candidate / marker).exists() for marker in _MARKERS):
            return candidate
    return folder


class Project:
    """The Python modules under ``root``, read lazily and once."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._sources: dict[Path, Source | None] = {}
        self._texts: dict[Path, str] = {}

    def resolve(self, dotted: str, level: int, importer: Source) -> Source | None:
        """The module that ``from {level dots}{dotted} import ...`` in ``importer`` names.

        Absolute names are looked up beside the importer (as Python does for a script), in the root and in its ``src``. ``None`` where the module
        is not one file of this project, cannot be read, or lies outside the root.
        """
        if importer.file is None:
            return None
        here = Path(os.path.abspath(importer.file)).parent
        if level:
            folders = [here.parents[level - 2] if level > 1 else here] if level - 2 < len(here.parents) else []
        else:
            folders = [here, self.root, self.root / "src"]
        parts = dotted.split(".") if dotted else []
        for folder in folders:
            base = folder.joinpath(*parts)
            candidates = [base / "__init__.py"] if not parts else [base.with_name(base.name + ".py"), base / "__init__.py"]
            for candidate in candidates:
                source = self._read(candidate, importer)
                if source is not None:
                    return source
        return None

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

    def _read(self, file: Path, importer: Source) -> Source | None:
        try:
            real = file.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # RuntimeError: a symlink loop before Python 3.13
            return None
        if not real.is_relative_to(self.root) or not real.is_file():
            return None
        if real not in self._sources:
            try:
                self._sources[real] = Source.read(real, _display(real, importer))
            except SourceError:
                self._sources[real] = None
        return self._sources[real]


def _display(real: Path, importer: Source) -> str:
    """The name to show: absolute where the importer's is, else relative to the working directory."""
    if os.path.isabs(importer.path):
        return str(real)
    try:
        return os.path.relpath(real)
    except ValueError:  # another drive on Windows
        return str(real)
