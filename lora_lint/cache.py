"""Results of earlier runs, kept in one file of a cache folder, and whether they still hold.

An entry holds as long as everything that its result came from is as it was: the file, the settings in force for it, lora-lint itself, and what else
was read or looked for: modules of the project, the folders they were looked up in, and the dependency files that the target was learned from. A
time stamp and a size that are the same are enough; where they differ, the contents decide.

The file is replaced as a whole, so that runs at the same time cannot damage it; at worst one of them has to check a file again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lora_lint import __version__
from lora_lint.findings import Applicability, Edit, Finding, Fix, Position, Severity, Span, Step

if TYPE_CHECKING:
    from lora_lint.config import Settings
    from lora_lint.engine import FileResult

FOLDER = ".lora_lint_cache"
VARIABLE = "LORA_LINT_CACHE_DIR"
NAME = "results.json"
TAG = "CACHEDIR.TAG"
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of lora-lint; see https://bford.info/cachedir/\n"
MAX_ENTRIES = 20_000
MAX_BYTES = 32 * 1024 * 1024
RACY = 2 * 10**9  # ns: a time stamp this young may stay the same through another change

_ABSENT, _FILE, _FOLDER = 0, 1, 2


def folder_of(given: str | None, root: Path) -> Path:
    """The cache folder: the one given, that of the environment, or the one in the project's folder."""
    return Path(given or os.environ.get(VARIABLE) or root / FOLDER).absolute()


class Cache:
    """The results in a cache folder. ``say`` gets a line where the cache could not be used."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self.folder = folder
        self.file = folder / NAME
        self._start = time.time_ns()
        self._tool = fingerprint()
        self._states: list[list[Any]] = []
        self._numbers: dict[str, int] = {}
        self._holding: dict[int, bool] = {}
        self._entries: dict[str, list[Any]] = {}
        self._changed = False
        self._today = int(time.time() // 86400)
        self._load(say)

    def _load(self, say: Callable[[str], None]) -> None:
        try:
            raw = self.file.read_bytes() if self.file.stat().st_size <= 2 * MAX_BYTES else b""
        except OSError:
            return
        try:
            data = json.loads(raw)
            if data["tool"] != self._tool:
                return
            states, entries = data["states"], data["entries"]
            if not all(len(state) == 5 for state in states) or not all(len(entry) == 4 for entry in entries.values()):
                raise ValueError("not as it was written")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            say(f"warning: {self.file}: the cache is damaged, starting a new one")
            self._changed = True
            return
        self._states, self._entries = states, entries

    def get(self, path: Path, display: str, settings: str) -> FileResult | None:
        """The result for a file, if it still holds."""
        entry = self._entries.get(_key(path, settings))
        if entry is None or entry[1] != display:
            return None
        try:
            if not all(self._holds(number) for number in entry[2]):
                return None
            result = _result(entry[3], path, display)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            self._entries.pop(_key(path, settings))
            return None
        if result is not None and entry[0] != self._today:
            entry[0] = self._today
            self._changed = True
        return result

    def put(self, path: Path, settings: str, result: FileResult, used: Iterable[str]) -> None:
        """Keep a result, with the paths of what else it came from, unless one of them changed while it was made."""
        numbers = []
        for one in (str(path), *sorted(set(used))):
            number = self._number(one)
            if number is None:
                return
            numbers.append(number)
        data = _data(result)
        if data is not None:
            self._entries[_key(path, settings)] = [self._today, result.path, numbers, data]
            self._changed = True

    def save(self) -> None:
        """Write what is new; a folder that cannot be written is no reason to complain."""
        if not self._changed:
            return
        self._merge()
        entries = dict(sorted(self._entries.items(), key=lambda item: -item[1][0])[:MAX_ENTRIES])
        text = self._text(entries)
        while len(text) > MAX_BYTES and entries:
            entries = dict(list(entries.items())[: len(entries) // 2])
            text = self._text(entries)
        try:
            made = not self.folder.is_dir()
            self.folder.mkdir(parents=True, exist_ok=True)
            if made:
                (self.folder / ".gitignore").write_text("# Made by lora-lint.\n*\n", encoding="utf-8")
                (self.folder / TAG).write_text(SIGNATURE, encoding="utf-8")
            handle, temporary = tempfile.mkstemp(prefix=NAME, dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(text)
                os.replace(temporary, self.file)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError:
            return
        self._changed = False

    def _merge(self) -> None:
        """Take over what another run has written meanwhile."""
        other = Cache.__new__(Cache)
        other.file, other._tool, other._states, other._entries, other._changed = self.file, self._tool, [], {}, False
        other._load(lambda _: None)
        ours = {json.dumps(state): i for i, state in enumerate(self._states)}
        for key, entry in other._entries.items():
            if key in self._entries or not all(isinstance(n, int) and 0 <= n < len(other._states) for n in entry[2]):
                continue
            numbers = []
            for n in entry[2]:
                text = json.dumps(other._states[n])
                if text not in ours:
                    ours[text] = len(self._states)
                    self._states.append(other._states[n])
                numbers.append(ours[text])
            self._entries[key] = [entry[0], entry[1], numbers, entry[3]]

    def _text(self, entries: dict[str, list[Any]]) -> bytes:
        """The cache as it is written: the states that entries refer to, numbered anew."""
        order: dict[int, int] = {}
        for entry in entries.values():
            for n in entry[2]:
                order.setdefault(n, len(order))
        states = [self._states[n] for n in order]
        written = {key: [entry[0], entry[1], [order[n] for n in entry[2]], entry[3]] for key, entry in entries.items()}
        return json.dumps({"tool": self._tool, "states": states, "entries": written}, separators=(",", ":")).encode()

    # ---------------------------------------------------------------- states
    def _number(self, path: str) -> int | None:
        """The state of a path now; ``None`` where it changed since the run began."""
        if path not in self._numbers:
            kind, stamp, size = _look(path)
            if stamp >= self._start:
                return None
            digest = _digest(path, kind)
            if _look(path) != (kind, stamp, size):
                return None
            self._numbers[path] = len(self._states)
            self._states.append([path, kind, stamp if self._start - stamp > RACY else 0, size, digest])
        return self._numbers[path]

    def _holds(self, number: int) -> bool:
        """Whether a path is as it was; looked up once a run."""
        held = self._holding.get(number)
        if held is None:
            path, kind, stamp, size, digest = state = self._states[number]
            found = _look(path)
            held = found == (kind, stamp, size)
            if not held and found[0] == kind != _ABSENT and found[2] == size:
                held = _digest(path, kind) == digest
                if held and self._start - found[1] > RACY:
                    state[2] = found[1]
                    self._changed = True
            self._holding[number] = held
        return held


def fingerprint() -> str:
    """What a result depends on besides the files: lora-lint with its rules and facts, the parser, Python."""
    root = Path(__file__).parent
    found = [__version__, sys.version]
    parser = importlib.util.find_spec("libcst")
    if parser is not None and parser.origin:
        found.append(f"{parser.origin} {_look(parser.origin)}")
    for folder in (root, *(root / name for name in ("api", "api/data", "dependencies", "facts", "libraries", "recipe", "rules"))):
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                if entry.name.endswith((".py", ".toml", ".json", ".bin")):
                    known = entry.stat()
                    found.append(f"{entry.path} {known.st_size} {known.st_mtime_ns}")
    return hashlib.sha256("\n".join(found).encode(errors="surrogateescape")).hexdigest()[:32]


def settings_key(settings: Settings, enabled: frozenset[str], root: Path) -> str:
    """What the settings for one file and the place of its project come to."""
    target = sorted((name, origin, [str(version) for version in versions]) for name, (versions, origin) in settings.target.restricted.items())
    said = (sorted(enabled), target, settings.severity.value, settings.detect, str(root), os.getcwd())
    return hashlib.sha256(repr(said).encode(errors="surrogateescape")).hexdigest()[:24]


def clean(folder: Path) -> int:
    """Remove a cache folder that lora-lint made; returns how many files it had. Raises ``OSError``; ``ValueError`` where it is no such folder."""
    if not folder.is_dir():
        return 0
    if not (folder / TAG).is_file():
        raise ValueError(f"{folder}: not a cache of lora-lint (no {TAG} in it)")
    own = [path for path in folder.iterdir() if path.name in (TAG, ".gitignore") or path.name.startswith(NAME)]
    for path in own:
        path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()
    return len(own)


def _key(path: Path, settings: str) -> str:
    return f"{settings}\0{path}"


def _look(path: str) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return _ABSENT, 0, 0
    if stat.S_ISDIR(found.st_mode):
        return _FOLDER, found.st_mtime_ns, 0
    return (_FILE, found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else (_ABSENT, 0, 0)


def _digest(path: str, kind: int) -> str:
    """What a file holds, or which names a folder has."""
    try:
        if kind == _FOLDER:
            names = sorted(name for name in os.listdir(path) if name != FOLDER)
            return hashlib.blake2b("\0".join(names).encode(errors="surrogateescape"), digest_size=16).hexdigest()
        if kind == _FILE:
            with open(path, "rb") as stream:
                return hashlib.blake2b(stream.read(), digest_size=16).hexdigest()
    except OSError:
        pass
    return ""


# -------------------------------------------------------------------- results as plain data
def _data(result: FileResult) -> list[Any] | int | None:
    """A result as JSON; 0 for one without anything, ``None`` for one that is not kept."""
    if result.error is not None or result.fixed or result.messages:
        return None
    if not result.findings and not result.suppressed:
        return 0
    return [[_plain(finding) for finding in found] for found in (result.findings, result.suppressed)]


def _result(data: Any, path: Path, display: str) -> FileResult | None:
    from lora_lint.engine import FileResult

    if data == 0:
        return FileResult(display, None)
    from lora_lint.source import Source, SourceError

    findings, suppressed = ([_finding(one) for one in found] for found in data)
    try:
        source = Source.read(path, display)
    except SourceError:
        return None
    return FileResult(display, source, findings, suppressed)


def _plain(finding: Finding) -> list[Any]:
    fix = finding.fix
    return [
        finding.code, finding.name, finding.severity.value, finding.message, finding.path, _numbers(finding.span), finding.failure, finding.versions,
        finding.condition, [[_numbers(step.span), step.message, step.path] for step in finding.flow], finding.help,
        None if fix is None else [fix.title, fix.applicability.value, [[e.start, e.end, e.text] for e in fix.edits]], finding.line_text,
    ]  # fmt: skip


def _finding(data: list[Any]) -> Finding:
    code, name, severity, message, path, span, failure, versions, condition, flow, advice, fix, line = data
    return Finding(
        code, name, Severity(severity), message, path, _span(span), failure, versions, condition,
        tuple(Step(_span(s), text, where) for s, text, where in flow), advice,
        None if fix is None else Fix(fix[0], Applicability(fix[1]), tuple(Edit(*edit) for edit in fix[2])), line,
    )  # fmt: skip


def _numbers(span: Span) -> list[int]:
    return [span.start.line, span.start.column, span.end.line, span.end.column]


def _span(numbers: list[int]) -> Span:
    a, b, c, d = numbers
    return Span(Position(a, b), Position(c, d))
