"""Which files to check: those named, and the Python files below the folders named.

Folders are read as git would see them (nested ``.gitignore`` files and ``.git/info/exclude``) without what the config excludes. Links to folders
are not followed, so that no loop can arise. What cannot be read is told to ``complain`` and skipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pathspec

from lora_lint.config import Config, Configs

SUFFIXES = (".py", ".pyw", ".ipynb")

Complain = Callable[[str], None]


@dataclass(frozen=True)
class File:
    """A file to check: its place, the name to show (as the user wrote its folder), and the config that holds for it."""

    path: Path
    display: str
    config: Config


# Ignore rules in force: each folder that declares some, with the rules, the outermost first.
_Ignores = tuple[tuple[Path, pathspec.GitIgnoreSpec], ...]


def discover(paths: Iterable[str], configs: Configs, complain: Complain, *, force_exclude: bool | None = None) -> Iterator[File]:
    """The files to check, each once, in the order of the arguments and by name below them.

    Files that are named are checked whatever they are called; ``force_exclude`` (or the config's own setting) excludes them too. Raises
    ``ConfigError`` for a config that cannot be used.
    """
    seen: set[Path] = set()
    for text in paths:
        for file in _named(text, configs, complain, force_exclude):
            if file.path not in seen:
                seen.add(file.path)
                yield file


def _named(text: str, configs: Configs, complain: Complain, force_exclude: bool | None) -> Iterator[File]:
    given = Path(text)
    path = Path(os.path.abspath(text))
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:
        complain(f"{text}: cannot read: {getattr(error, 'strerror', None) or error}")
        return
    if not exists:
        # A link that leads nowhere is there all the same.
        complain(f"{text}: {'broken or circular link' if path.is_symlink() else 'no such file or directory'}")
        return
    config = configs.of(path if is_folder else path.parent)
    force = config.force_exclude if force_exclude is None else force_exclude
    excluded = config.excludes(path, folder=is_folder)
    if force and excluded:
        return
    if not is_folder:
        yield File(path, text, config)
        return
    ignores = _ignores_above(path)
    if _ignored(path, True, ignores):  # the user asked for it: only what its own files say counts
        ignores = ()
    yield from _walk(path, given, configs, complain, ignores, path if excluded else None)


def _walk(folder: Path, shown: Path, configs: Configs, complain: Complain, ignores: _Ignores, below: Path | None) -> Iterator[File]:
    try:
        with os.scandir(folder) as entries:
            children = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        complain(f"{shown}: cannot read: {error.strerror or error}")
        return
    config = configs.of(folder)
    if any(child.name == ".gitignore" for child in children):
        ignores = _with(ignores, folder, folder / ".gitignore")
    for child in children:
        path = folder / child.name
        try:
            is_folder = child.is_dir(follow_symlinks=False)
            wanted = is_folder or (child.name.endswith(SUFFIXES) and child.is_file())
        except OSError as error:
            complain(f"{shown / child.name}: cannot read: {error.strerror or error}")
            continue
        if not wanted or config.excludes(path, folder=is_folder, below=below) or _ignored(path, is_folder, ignores):
            continue
        if is_folder:
            yield from _walk(path, shown / child.name, configs, complain, ignores, below)
        else:
            yield File(path, str(shown / child.name), config)


def _ignores_above(folder: Path) -> _Ignores:
    """The ignore rules that the repository of a folder declares above it; none outside a repository."""
    for root in (folder, *folder.parents):
        if (root / ".git").exists():
            break
    else:
        return ()
    found = _with((), root, root / ".git" / "info" / "exclude")
    between = [root, *reversed([parent for parent in folder.parents if root in parent.parents])] if root != folder else []
    for parent in between:
        found = _with(found, parent, parent / ".gitignore")
    return found


def _with(ignores: _Ignores, folder: Path, file: Path) -> _Ignores:
    """``ignores`` with those of one more file, which hold below ``folder``; an unreadable file adds nothing."""
    try:
        lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return ignores
    specs = []
    for line in lines:
        try:
            specs.append(pathspec.GitIgnoreSpec.from_lines([line]))
        except ValueError:  # git, too, skips a pattern that is none
            continue
    patterns = [pattern for spec in specs for pattern in spec.patterns]
    return (*ignores, (folder, pathspec.GitIgnoreSpec(patterns)))


def _ignored(path: Path, is_folder: bool, ignores: _Ignores) -> bool:
    """Whether the innermost rule that speaks of a path ignores it."""
    for folder, spec in reversed(ignores):
        relative = path.relative_to(folder).as_posix()
        included = spec.check_file(relative + "/" if is_folder else relative).include
        if included is not None:
            return included
    return False
