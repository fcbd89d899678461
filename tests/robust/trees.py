"""Analyses every Python file and notebook below folders: by default CPython's library with its tests, and this environment's packages.

    python tests/robust/trees.py [--every N] [--engine] [FOLDER...]
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import harness

from lora_lint import engine

FOLDERS = "LORA_LINT_ROBUST"
"""An environment variable with more folders, separated as in PATH."""


def folders() -> list[Path]:
    """CPython's library, the packages, and what the environment names."""
    paths = sysconfig.get_paths()
    more = [Path(name) for name in os.environ.get(FOLDERS, "").split(os.pathsep) if name]
    return [Path(paths["stdlib"]), Path(paths["purelib"]), *more]


def files(roots: list[Path]) -> Iterator[Path]:
    """Python files and notebooks below folders, by name, each once."""
    seen: set[str] = set()
    for root in roots:
        for folder, names, entries in os.walk(root):
            names[:] = sorted(name for name in names if name != "site-packages")  # of another environment
            for entry in sorted(entries):
                file = Path(folder, entry)
                if entry.endswith((".py", ".pyw", ".pyi", ".ipynb")) and str(file) not in seen and file.is_file():
                    seen.add(str(file))
                    yield file


def with_engine(name: str) -> None:
    """A file as the program checks it, its project and dependency files included."""
    result = engine.check_file(Path(name), name, harness.SETTINGS, engine.Projects(), fix=True, unsafe=True)
    if result.error:
        raise result.error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, help="instead of the default ones")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th file")
    parser.add_argument("--engine", action="store_true", help="with the pre-filter, project and dependency files: as the program does it")
    options = parser.parse_args()
    chosen = [str(file) for file in files(options.folders or folders())][:: options.every]
    print(f"{len(chosen)} files", flush=True)
    _, bad = harness.summary(harness.run(((name, name) for name in chosen), with_engine if options.engine else harness.one_file))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
