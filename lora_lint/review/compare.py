"""What a pull request introduces: what is found at its head and was not found at its base."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lora_lint.config import Config, Configs, settings
from lora_lint.discovery import SUFFIXES
from lora_lint.engine import FileResult, Projects, check_file
from lora_lint.findings import Severity
from lora_lint.report import Report
from lora_lint.report.entries import Entry, entries
from lora_lint.review.forge import ChangedFile

# A change of one of these may change the versions that the scripts below its folder meet.
_DEPENDENCIES = (".toml", ".txt", ".in", ".lock", ".cfg", ".yml", ".yaml", "Pipfile", "Dockerfile", "setup.py")


class Comparison:
    """Two commits, unpacked in the folders ``base`` and ``head``, and what lies between them. The configuration is that of the base alone."""

    def __init__(self, base: Path, head: Path, changes: Sequence[ChangedFile]) -> None:
        self._base = base
        self._head = head
        self._changes = changes
        self._configs = Configs(cwd=base)

    @property
    def fail_on(self) -> Severity:
        """The lowest severity that fails the gate. Raises ``ConfigError``."""
        return self._configs.of(self._base).fail_on or Severity.WARNING

    def introduced(self) -> list[Entry]:
        """The new findings, their paths relative to the repository. Raises ``ConfigError`` where the base's configuration cannot be used."""
        before = {change.path: change.before for change in self._changes if change.path and change.before}
        names = self._concerned()
        old = [(before.get(name, name), name) for name in names]
        known = {entry.fingerprint for entry in self._check(self._base, [pair for pair in old if (self._base / pair[0]).is_file()])}
        return [entry for entry in self._check(self._head, [(name, name) for name in names]) if entry.fingerprint not in known]

    def _concerned(self) -> list[str]:
        """The files of the head that may have new findings: those that changed, and those that a changed module or dependency file speaks to."""
        changed = {change.path for change in self._changes if change.path}
        moved = [path for change in self._changes for path in (change.path, change.before) if path]
        folders = [Path(path).parent for path in moved if path.endswith(_DEPENDENCIES)]
        stems = {Path(path).stem if Path(path).stem != "__init__" else Path(path).parent.name for path in moved if path.endswith(".py")}
        mention = re.compile(rb"\b(?:" + b"|".join(re.escape(stem.encode()) for stem in sorted(stems) if stem) + rb")\b") if stems - {""} else None
        found = []
        for name, file in self._files():
            below = any(folder in Path(name).parents for folder in folders)
            if name in changed or below or (mention and mention.search(file.read_bytes())):
                found.append(name)
        return found

    def _files(self) -> Iterator[tuple[str, Path]]:
        """The files to check at the head, by name; what the configuration excludes is left out."""
        for file in sorted(self._head.rglob("*")):
            if file.name.endswith(SUFFIXES) and not self._config(self._head, file.parent).excludes(file):
                yield file.relative_to(self._head).as_posix(), file

    def _config(self, root: Path, folder: Path) -> Config:
        """The base's configuration for a folder of either commit."""
        inside = folder.relative_to(root)
        config = self._configs.of(self._base / inside)
        return replace(config, root=root / config.root.relative_to(self._base)) if root != self._base else config

    def _check(self, root: Path, files: Iterable[tuple[str, str]]) -> list[Entry]:
        """The findings in files of a commit, each given by its path and the name to report it under."""
        with _inside(root):
            projects = Projects()
            results: list[FileResult] = []
            for path, name in files:
                file = root / path
                results.append(check_file(file, name, settings(self._config(root, file.parent)), projects))
            return list(entries(Report(results), base=str(root)))


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, since places are named relative to the working folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
