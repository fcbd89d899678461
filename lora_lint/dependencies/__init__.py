"""Which versions of the libraries a script may meet: what stands in it, and in the dependency files around it.

Each library is looked up on its own, and the nearest source that names it wins: the script itself, then the files of its folder, then those of each
folder above, up to the root of the repository. Nothing is run, imported or fetched. A set of versions that is too wide costs severity; one that is
too narrow would be a lie, so in doubt it is the wide one.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from lora_lint.target import LIBRARIES, Known, TargetError, select

if TYPE_CHECKING:
    from packaging.markers import Marker

    from lora_lint.dependencies.entries import Entry, Reading
    from lora_lint.dependencies.sources import Kind

_VCS = (".git", ".hg", ".svn", ".jj")
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
# The interpreters and systems on which a marker is tried; a training script runs on one of them.
_PYTHONS = tuple(f"3.{minor}" for minor in range(8, 15))
_SYSTEMS = (
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "aarch64"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
)
_EXTRA = re.compile(r"""\bextra\s*==\s*["']([^"']+)["']|["']([^"']+)["']\s*==\s*extra\b""")


@dataclass(frozen=True)
class Said:
    """One entry as a source says it.

    ``versions`` is a specifier set, empty where none is named; ``path`` and ``line`` say where, ``place`` so for people; ``kind`` names the kind
    of source; ``used`` whether the target rests on it, and ``why`` (not).
    """

    library: str
    versions: str
    path: Path | None
    line: int
    place: str
    kind: str
    used: bool
    why: str


@dataclass(frozen=True)
class Derivation:
    """What is known of a script's versions: ``known`` the target, ``said`` all entries, nearest first, ``problems`` a line for each broken one."""

    known: Known = field(default_factory=dict)
    said: tuple[Said, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Source:
    """The files of one kind that stand side by side, with what they say; entries of different files are alternatives."""

    kind: Kind
    entries: Mapping[Path, Sequence[Entry]]
    pythons: Mapping[Path, str]
    line_name: Callable[[int], str] = str

    def names(self, library: str) -> list[Entry]:
        return [entry for entries in self.entries.values() for entry in entries if entry.library == library]


class Detector:
    """Derives targets; for one run, since it reads each folder and each file once. Never raises for what stands in a file."""

    def __init__(self, cwd: Path | None = None) -> None:
        self._cwd = (cwd or Path.cwd()).absolute()
        self._folders: dict[Path, tuple[_Source, ...]] = {}
        self._above: dict[Path, Derivation] = {}
        self._reading: Reading | None = None
        self.asked = False

    def derive(self, file: Path | None, text: str, line_name: Callable[[int], str] = str) -> Derivation:
        """The versions that a script may meet.

        ``file`` is its absolute path (``None``: only its text counts), ``text`` its source, ``line_name`` what people call a line of it.
        """
        own = self._own(file or Path("-"), text, line_name)
        self.asked = True
        if own is None and file is not None:
            if file.parent not in self._above:
                self._above[file.parent] = self._settle(list(self._around(file.parent)))
            return self._above[file.parent]
        sources = [] if own is None else own
        return self._settle([*sources, *(self._around(file.parent) if file is not None else ())])

    def used(self, folder: Path) -> set[str]:
        """The files and folders on which a target of a script in a folder rests."""
        found = {str(path) for one in folders(folder) for path in (one, one / "requirements")}
        return found | {str(path) for path in self._files.opened}

    # --- gathering ---------------------------------------------------------------------------------------------------------------------------

    @property
    def _files(self) -> Reading:
        if self._reading is None:
            from lora_lint.dependencies.entries import Reading

            self._reading = Reading()
        return self._reading

    def _own(self, place: Path, text: str, line_name: Callable[[int], str]) -> list[_Source] | None:
        """What the script says itself."""
        if "# /// script" not in text and "pip" not in text:
            return None
        from lora_lint.dependencies import script, shell
        from lora_lint.dependencies.sources import BLOCK, PIP_LINES

        block = list(script.read_block(text, place, self._files))
        lines = list(shell.read_script(text, place, self._files))
        found = [_Source(BLOCK, {place: block}, {place: script.block_pythons(text)}, line_name)] if block else []
        return [*found, _Source(PIP_LINES, {place: lines}, {}, line_name)] if lines else found or None

    def _around(self, folder: Path) -> Iterator[_Source]:
        """What the dependency files of a folder and of those above it say, nearest first."""
        for one in folders(folder):
            if one not in self._folders:
                self._folders[one] = tuple(self._read(one))
            yield from self._folders[one]

    def _read(self, folder: Path) -> Iterator[_Source]:
        names = _names(folder)
        if not names:
            return
        from lora_lint.dependencies.sources import KINDS

        for kind in KINDS:
            entries: dict[Path, Sequence[Entry]] = {}
            pythons: dict[Path, str] = {}
            for name in sorted(name for name in names if kind.matches(name)):
                file = folder / name
                text = self._files.text(file)
                if text is not None:
                    entries[file] = list(kind.read(text, file, self._files))
                    pythons[file] = kind.pythons(text) if kind.pythons else ""
            if any(entries.values()):
                yield _Source(kind, entries, pythons)

    # --- deciding ----------------------------------------------------------------------------------------------------------------------------

    def _settle(self, sources: list[_Source]) -> Derivation:
        known: dict[str, tuple[tuple[Version, ...], str]] = {}
        said: list[Said] = []
        for library in LIBRARIES:
            naming = [source for source in sources if source.names(library)]
            if naming:
                versions, winner = self._decide(library, naming)
                if versions is not None:
                    known[library] = (versions, self._origin(winner, library))
                said += self._told(library, naming, winner, versions)
        problems = [f"{self._shown(file)}{f':{line}' if line else ''}: {message}" for file, line, message in self._files.problems]
        return Derivation(known, tuple(said), tuple(problems))

    def _decide(self, library: str, naming: list[_Source]) -> tuple[tuple[Version, ...] | None, _Source]:
        """The releases that the nearest source allows (``None``: it names no version, or none that is known), and which source that is.

        A lock file farther away, whose version lies in the range that a nearer project file declares, does not contradict it but says more.
        """
        nearest = naming[0]
        versions = _versions(library, nearest)
        if nearest.kind.declares and (versions is None or len(versions) > 1):
            for source in naming[1:]:
                locked = _versions(library, source) if source.kind.locks else None
                if locked and set(locked) <= set(versions or locked):
                    return locked, source
        return versions, nearest

    def _told(self, library: str, naming: list[_Source], winner: _Source, versions: tuple[Version, ...] | None) -> Iterator[Said]:
        place = self._origin(winner, library)
        for source in naming:
            for entry in source.names(library):
                used = source is winner
                if not used:
                    why = f"the nearer {place} wins" if naming.index(source) > naming.index(winner) else f"{place} says more"
                elif entry.marker is not None and not _applies(entry.marker, ""):
                    used, why = False, "its marker holds nowhere"
                elif entry.group and any(not other.group for other in source.names(library)):
                    used, why = False, f"{entry.group} need not be installed"
                elif not entry.versions:
                    why = "used" if versions is not None else "names no version"
                else:
                    why = "used" if versions is not None else "no known release"
                yield Said(library, entry.versions, entry.file, entry.line, self._place(source, entry), source.kind.name, used, why)

    def _origin(self, source: _Source, library: str) -> str:
        """Where the entries of a library stand: the first two, and how many more."""
        entries = source.names(library)
        base = [entry for entry in entries if not entry.group] or entries
        places = list(dict.fromkeys(self._place(source, entry) for entry in base))
        return ", ".join(places) if len(places) <= 3 else f"{places[0]}, {places[1]} and {len(places) - 2} more"

    def _place(self, source: _Source, entry: Entry) -> str:
        if entry.file is None:
            return str(entry.line)
        line = source.line_name(entry.line) if entry.file in source.entries else entry.line
        return f"{self._shown(entry.file)}:{line}"

    def _shown(self, file: Path) -> str:
        try:
            return file.relative_to(self._cwd).as_posix()
        except ValueError:
            return file.as_posix()


def folders(start: Path) -> Iterator[Path]:
    """A folder and those above it that may speak for a script in it.

    They end at the root of the repository. Without one, at the outermost folder that looks like a project, below the home folder; and where nothing
    does, there is only the folder itself, so that no stranger's files are read.
    """
    above = [start, *start.parents]
    root = next((i for i, folder in enumerate(above) if any((folder / name).exists() for name in _VCS)), None)
    if root is None:
        home = Path(os.path.expanduser("~"))
        outer = [i for i, folder in enumerate(above[1:], 1) if folder != home and folder != Path(folder.anchor)]
        outer = list(itertools.takewhile(lambda i: above[i] != home, outer))
        root = max((i for i in outer if any((above[i] / name).is_file() for name in _PROJECT)), default=0)
    yield from above[: root + 1]


def _names(folder: Path) -> list[str]:
    """The files of a folder that may be dependency files, with those of a ``requirements`` folder in it."""
    try:
        with os.scandir(folder) as found:
            names = [entry.name for entry in found]
    except OSError:
        return []
    if "requirements" in names:
        try:
            with os.scandir(folder / "requirements") as found:
                names += [f"requirements/{entry.name}" for entry in found]
        except OSError:
            pass
    return names


def _versions(library: str, source: _Source) -> tuple[Version, ...] | None:
    """The releases of a library that the files of a source allow, any of which may hold; ``None`` where they name no version, or none known."""
    found: set[Version] = set()
    for file, entries in source.entries.items():
        mine = [entry for entry in entries if entry.library == library]
        if not mine:
            continue
        base = [entry for entry in mine if not entry.group]
        parts = [base] if base else [[entry for entry in mine if entry.group == group] for group in dict.fromkeys(entry.group for entry in mine)]
        for part in parts:
            versions = _allowed(library, part, source.pythons.get(file, ""))
            if versions is None:
                return None
            found |= versions
    return tuple(sorted(found)) or None


def _allowed(library: str, entries: list[Entry], pythons: str) -> set[Version] | None:
    """The releases that entries allow which hold together, on any interpreter and system; ``None`` where on some there is no restriction."""
    if entries[0].alternatives:
        combinations = {entry.versions for entry in entries if entry.versions and (entry.marker is None or _applies(entry.marker, pythons))}
    elif all(entry.marker is None for entry in entries):
        combinations = {",".join(sorted({entry.versions for entry in entries if entry.versions}))}
    else:
        combinations = set()
        for environment in _environments(pythons):
            holding = [entry for entry in entries if entry.marker is None or _evaluate(entry.marker, environment)]
            if holding:
                combinations.add(",".join(sorted({entry.versions for entry in holding if entry.versions})))
    if "" in combinations or not combinations:
        return None
    found: set[Version] = set()
    for text in combinations:
        found |= _select(library, text)
    return found or None


@lru_cache(maxsize=4096)
def _select(library: str, text: str) -> frozenset[Version]:
    try:
        return frozenset(select(library, SpecifierSet(text), ""))
    except (TargetError, InvalidSpecifier):
        return frozenset()


@lru_cache(maxsize=64)
def _environments(pythons: str) -> tuple[Mapping[str, str], ...]:
    """The environments on which markers are tried, those that a ``requires-python`` excludes left out."""
    try:
        wanted = SpecifierSet(pythons)
    except InvalidSpecifier:
        wanted = SpecifierSet()
    versions = [version for version in _PYTHONS if any(wanted.contains(f"{version}.{patch}") for patch in (0, 8, 99))] or list(_PYTHONS)
    return tuple(
        {**system, "python_version": version, "python_full_version": f"{version}.8", "implementation_name": "cpython",
         "platform_python_implementation": "CPython", "implementation_version": f"{version}.8", "platform_release": "", "platform_version": ""}
        for version in versions
        for system in _SYSTEMS
    )  # fmt: skip


def _evaluate(marker: Marker, environment: Mapping[str, str]) -> bool:
    """Whether a marker holds in an environment with any one of the extras that it names."""
    extras = {single or double for single, double in _EXTRA.findall(str(marker))}
    try:
        return any(marker.evaluate({**environment, "extra": extra}) for extra in ("", *extras))
    except Exception:  # a marker that compares what cannot be compared may hold
        return True


@lru_cache(maxsize=1024)
def _applies(marker: Marker, pythons: str) -> bool:
    """Whether a marker holds anywhere."""
    return any(_evaluate(marker, environment) for environment in _environments(pythons))
