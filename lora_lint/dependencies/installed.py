"""The versions that an environment has installed, from the metadata of its packages: nothing is imported, no interpreter is started."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from packaging.version import InvalidVersion, Version

from lora_lint.dependencies import Derivation, Said
from lora_lint.dependencies.entries import known
from lora_lint.target import TargetError

_NAMED = ("VIRTUAL_ENV", "CONDA_PREFIX")
_BESIDE = (".venv", "venv")


def environment(python: Path | None, cwd: Path) -> Derivation:
    """What is installed in an environment.

    ``python`` is an interpreter or the environment's folder; without it, it is the active environment, else the nearest ``.venv`` or ``venv`` from
    ``cwd`` upwards. Raises ``TargetError`` where there is none, or none of the libraries is in it.
    """
    if python is not None:
        given = Path(os.path.abspath(os.path.expanduser(python)))  # not resolved: a virtual environment's interpreter is often a link
        if not given.exists():
            raise TargetError(f"no such interpreter or environment: {python}")
        folder = given if given.is_dir() else given.parent.parent
        found = _installed(folder, cwd)
        if not found.known:
            raise TargetError(f"none of the libraries is installed in {python}" if list(_sites(folder)) else f"no Python environment: {python}")
        return found
    for candidate in _candidates(cwd):
        found = _installed(candidate, cwd)
        if found.known:
            return found
    raise TargetError("no environment with the libraries is active or lies in .venv; name its interpreter with --python")


def _candidates(cwd: Path) -> Iterator[Path]:
    for name in _NAMED:
        if os.environ.get(name):
            yield Path(os.environ[name])
    for folder in (cwd, *cwd.parents):
        for name in _BESIDE:
            if (folder / name / "pyvenv.cfg").is_file():
                yield folder / name


def _installed(folder: Path, cwd: Path) -> Derivation:
    try:
        shown = folder.relative_to(cwd).as_posix()
    except ValueError:
        shown = folder.as_posix()
    versions: dict[str, tuple[tuple[Version, ...], str]] = {}
    said: list[Said] = []
    for site in _sites(folder):
        for distribution in distributions(path=[str(site)]):
            name = distribution.metadata["Name"]
            library = known(name) if isinstance(name, str) else None
            if library is None or library in versions:
                continue
            try:
                version = Version(distribution.version)
            except (InvalidVersion, TypeError):
                continue
            versions[library] = ((version,), f"installed in {shown}")
            said.append(Said(library, f"=={version}", site, 0, f"installed in {shown}", "environment", True, "used"))
    return Derivation(versions, tuple(said))


def _sites(folder: Path) -> Iterator[Path]:
    """The folders of packages of an environment, its own first, then those of the interpreter that it may look through to."""
    for pattern in ("lib/python3*/site-packages", "lib64/python3*/site-packages", "Lib/site-packages", "lib/python3*/dist-packages"):
        yield from (site for site in sorted(folder.glob(pattern), reverse=True) if site.is_dir())
    if folder == Path("/usr"):
        yield from (site for site in (folder / "local/lib").glob("python3*/dist-packages") if site.is_dir())
        yield from (site for site in (folder / "lib/python3/dist-packages",) if site.is_dir())
    try:
        settings = (folder / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    home = re.search(r"^home\s*=\s*(.+?)\s*$", settings, re.MULTILINE)
    if home and re.search(r"^include-system-site-packages\s*=\s*true\s*$", settings, re.MULTILINE | re.IGNORECASE):
        base = Path(home[1])
        parent = base.parent if base.name in ("bin", "Scripts") else base
        if parent != folder:
            yield from _sites(parent)
