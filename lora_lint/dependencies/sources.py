"""The kinds of source, in the order in which they are believed where they stand side by side. A new kind is one more row and its reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lora_lint.dependencies import conda, locks, pyproject, requirements, setuptools, shell
from lora_lint.dependencies.entries import Entry, Reading

Read = Callable[[str, Path, Reading], Iterator[Entry]]


@dataclass(frozen=True)
class Kind:
    """A kind of source.

    ``name`` is for people, ``pattern`` matches its file names whole. ``locks``: it names the very versions that are installed. ``declares``: it
    declares ranges for which a lock file, farther up, may have chosen. ``pythons`` finds the Python versions that a file is for.
    """

    name: str
    pattern: str
    read: Read
    locks: bool = False
    declares: bool = False
    pythons: Callable[[str], str] | None = None

    def matches(self, name: str) -> bool:
        return re.fullmatch(self.pattern, name) is not None


def _nothing(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    yield from ()


BLOCK = Kind("PEP 723 block", "", _nothing)
PIP_LINES = Kind("pip line", "", _nothing)

KINDS = (
    Kind("lock file", r"uv\.lock|poetry\.lock|pdm\.lock|pylock(\.[^.]+)?\.toml", locks.read_toml, locks=True),
    Kind("lock file", r"Pipfile\.lock", locks.read_pipfile, locks=True),
    Kind("lock file", r"(.*[.-])?conda-lock\.ya?ml", locks.read_conda, locks=True),
    Kind("requirements file", r"requirements\.txt", requirements.read),
    Kind("requirements file", r"(?!requirements\.txt)([^/]*requirements[^/]*|requirements/[^/]*)\.txt", requirements.read),
    Kind("requirements file", r"requirements[^/]*\.in|requirements/[^/]*\.in", requirements.read),
    Kind("pyproject.toml", r"pyproject\.toml", pyproject.read, declares=True, pythons=pyproject.pythons),
    Kind("Pipfile", r"Pipfile", pyproject.read_pipfile, declares=True),
    Kind("setup.cfg", r"setup\.cfg", setuptools.read_cfg, declares=True),
    Kind("setup.py", r"setup\.py", setuptools.read_py, declares=True),
    Kind("conda environment", r"environment[^/]*\.ya?ml|conda[^/]*\.ya?ml", conda.read),
    Kind("Dockerfile", r"Dockerfile[^/]*|[^/]*\.[Dd]ockerfile|Containerfile[^/]*", shell.read_dockerfile),
)
