"""What the readers of dependency files have in common: an entry, and reading a file with care."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from lora_lint.target import LIBRARIES

MAX_BYTES = 20 * 1024 * 1024

_TAG = re.compile(r"@v?(\d+(?:\.\d+)+(?:[a-z0-9.+-]*))(?:#|$)")
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF16_LE, "utf-16-le"),
         (codecs.BOM_UTF16_BE, "utf-16-be"))  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One library as one line of a source names it.

    ``versions`` is a specifier set (PEP 440), empty where the line names no version (a bare name, a branch, a path). ``group`` is the extra or
    group that it belongs to, empty for what is always installed. ``alternatives`` says that entries of one library exclude each other (a lock
    file's several versions) where they would else hold together.
    """

    library: str
    versions: str
    line: int
    file: Path | None = None
    marker: Marker | None = None
    group: str = ""
    alternatives: bool = False


class Reading:
    """Opens files for the readers, each once, and collects what cannot be understood; never raises for what it finds."""

    def __init__(self) -> None:
        self.problems: list[tuple[Path, int, str]] = []
        self._texts: dict[Path, str | None] = {}

    def problem(self, file: Path, line: int, message: str) -> None:
        """Note that a line (0: the whole file) cannot be used."""
        if (file, line, message) not in self.problems:
            self.problems.append((file, line, message))

    @property
    def opened(self) -> Iterable[Path]:
        """The files that were asked for."""
        return self._texts

    def text(self, file: Path) -> str | None:
        """The text of a regular file, by its BOM, as UTF-8 or else as latin-1; ``None`` where there is none to be had."""
        if file not in self._texts:
            self._texts[file] = self._read(file)
        return self._texts[file]

    def _read(self, file: Path) -> str | None:
        try:
            status = os.stat(file)  # follows links, which end in an error if they loop
            if not stat.S_ISREG(status.st_mode):
                self.problem(file, 0, "not a regular file")
                return None
            if status.st_size > MAX_BYTES:
                self.problem(file, 0, f"larger than {MAX_BYTES // 1024**2} MiB, not read")
                return None
            raw = file.read_bytes()
        except (OSError, ValueError) as error:
            self.problem(file, 0, f"cannot read: {getattr(error, 'strerror', None) or error}")
            return None
        for bom, encoding in _BOMS:
            if raw.startswith(bom):
                return raw[len(bom) :].decode(encoding, errors="replace")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw.decode("latin-1")


def known(name: str) -> str | None:
    """The library that a distribution's name stands for, if it is one of ours."""
    canonical = canonicalize_name(name)
    return canonical if canonical in LIBRARIES else None


def parse(text: str, line: int, file: Path | None, group: str = "") -> Entry | None:
    """The entry of a requirement (PEP 508); ``None`` for a library that we do not know. Raises ``ValueError`` where it is malformed."""
    text = text.strip()
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        if re.match(r"(?:git|hg|svn|bzr)\+|https?://|file:|[./~]", text):
            return from_url(text, line, file, group)
        raise ValueError(f"not a requirement: {text[:100]!r}") from None
    library = known(requirement.name)
    if library is None:
        return None
    versions = url_version(requirement.url) if requirement.url else str(requirement.specifier)
    return Entry(library, versions, line, file, requirement.marker, group)


def from_url(url: str, line: int, file: Path | None, group: str = "") -> Entry | None:
    """The entry of a bare URL or path: named by its ``egg`` fragment, its wheel, or the repository."""
    if egg := re.search(r"#(?:.*&)?egg=([\w.-]+)", url):
        name = egg[1]
    else:
        last = re.split(r"[?#]", url)[0].rstrip("/").rsplit("/", 1)[-1]
        wheel = re.match(r"([\w.]+)-\d.*\.(?:whl|tar\.gz|zip)$", last)
        name = wheel[1] if wheel else re.sub(r"(?:\.git)?(?:@.*)?$", "", last)
    library = known(name) if re.fullmatch(r"[\w.-]+", name) else None
    return Entry(library, url_version(url), line, file, None, group) if library else None


def url_version(url: str) -> str:
    """``==1.2.3`` for a tag or a wheel of that version, empty for a branch, a commit or a path."""
    path = unquote(re.split(r"[?#]", url)[0])
    try:
        return f"=={parse_wheel_filename(path.rsplit('/', 1)[-1])[1]}"
    except InvalidWheelFilename:
        found = _TAG.search(unquote(url)) or re.search(r"/(?:archive|tarball|zipball)/(?:refs/tags/)?v?(\d+(?:\.\d+)+)", path)
    if found is None:
        return ""
    try:
        return f"=={Version(found[1].removesuffix('.git'))}"
    except InvalidVersion:
        return ""


def pin(version: object) -> str | None:
    """``==`` a version as a lock file has it; ``None`` where it is none."""
    try:
        return f"=={Version(str(version))}"
    except InvalidVersion:
        return None


def specifier(text: str) -> str | None:
    """A specifier set in its plain form; ``None`` where it is malformed."""
    try:
        return str(SpecifierSet(text))
    except InvalidSpecifier:
        return None


def marker(text: object) -> Marker | None:
    """A marker; ``None`` where it is malformed or absent, which means that the entry always applies."""
    try:
        return Marker(text) if isinstance(text, str) and text.strip() else None
    except InvalidMarker:
        return None


class Lines:
    """Finds the lines of texts that follow each other in a file, as values of a parsed document do."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def of(self, *needles: str) -> int:
        """The 1-based line of the next place where the texts stand, one behind the other; it falls back to the first such place."""
        for start in (self._at, 0):
            at = start
            for needle in needles:
                at = self._text.find(needle, at)
                if at < 0:
                    break
            if at >= 0:
                self._at = at + 1
                return self._text.count("\n", 0, at) + 1
        return 1


def requirements(texts: Iterable[object], lines: Lines, file: Path, reading: Reading, group: str = "") -> Iterator[Entry]:
    """The entries of a list of requirements in a parsed document."""
    for text in texts:
        if not isinstance(text, str):
            continue
        line = lines.of(text.splitlines()[0]) if text.strip() else 1
        try:
            entry = parse(text, line, file, group)
        except ValueError as error:
            reading.problem(file, line, str(error))
            continue
        if entry is not None:
            yield entry
