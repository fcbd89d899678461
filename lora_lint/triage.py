"""Whether a file can have findings at all, decided by its words, before anything heavy is imported.

Rules say of which kinds of records they need one (``NEEDS``), summaries by which words each kind comes about (``registry.recorded``); both
together are the table ``triggers.json``, which ``scripts/update_triggers.py`` makes. A file is left aside only when no rule that is asked for can
have all that it needs: in the file's own code, or in what it may reach in the modules of its project. Comments and texts are no code. A rule
without ``NEEDS`` wants every file. It must not import LibCST, the summaries or the rules.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lora_lint.project import Project
    from lora_lint.source import Source

TABLE = Path(__file__).with_name("triggers.json")
MODULES = 40  # as many as the interpreter executes

# Comments and texts; what is left of them: the code in f-strings, and texts that look like a name (keywords in dictionaries, getattr).
_TEXTS = re.compile(
    rb"""\#[^\n]*
    |(?<![A-Za-z0-9_])(?:[bBuU]|[bB]?[rR][bB]?)?(?:
        \"{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"{3} | '{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3}
        |"([A-Za-z_][A-Za-z0-9_.]*)" | '([A-Za-z_][A-Za-z0-9_.]*)'
        |"[^"\\\n]*(?:\\.[^"\\\n]*)*" | '[^'\\\n]*(?:\\.[^'\\\n]*)*' )
    |(?<![A-Za-z0-9_])(?:[fFtT][rR]?|[rR][fFtT])(?:
        \"{3}([^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*)\"{3} | '{3}([^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*)'{3}
        |"([^"\\\n]*(?:\\.[^"\\\n]*)*)" | '([^'\\\n]*(?:\\.[^'\\\n]*)*)' )""",
    re.DOTALL | re.VERBOSE,
)
_KEPT = rb" \1\2\3\4\5\6 "
_EXPORTED = re.compile(rb"^__all__[ \t]*\+?=[ \t]*[\[(][^\])]*[\])]", re.MULTILINE)  # names, but no use of them
_WORD = re.compile(rb"(?:def|class) +\w+|[A-Za-z_]\w*")
_LINE = re.compile(rb"^([ \t]*)(?:(@)|(?:async[ \t]+)?(def|class)[ \t]+(\w+)([^\n]*)|[^\s\\])", re.MULTILINE)
_PARAMETERS = re.compile(rb"\s*\(\s*(?:self|cls)?\s*,?\s*/?\s*,?\s*(\w*)")
_NAME = re.compile(rb"\w+")
_IMPORTED = re.compile(rb"(?:^|[;:])[ \t]*(?:from[ \t]+([A-Za-z_]\w*)|import[ \t]+((?:[\w., \t]|\\\r?\n)+))", re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import\b[ \t]*(\([^)]*\)|[^\n;]*)|import[ \t]+([^\n;]+))", re.MULTILINE)


@dataclass(frozen=True)
class Table:
    """Which words each rule needs: one of each of its sets. ``hooks`` are kinds that a certain method records."""

    triggers: tuple[bytes, ...]
    rules: dict[str, tuple[tuple[bytes, ...], ...]]
    hooks: dict[bytes, tuple[bytes, tuple[bytes, ...], frozenset[bytes]]]


@lru_cache(maxsize=1)
def table() -> Table:
    """The table of this release."""
    data = json.loads(TABLE.read_text(encoding="utf-8"))
    return Table(
        tuple(word.encode() for word in data["triggers"]),
        {code: tuple(tuple(word.encode() for word in words) for words in needs) for code, needs in data["rules"].items()},
        {
            b"@" + kind.encode(): (hook["method"].encode(), tuple(w.encode() for w in hook["not_data"]), frozenset(w.encode() for w in hook["words"]))
            for kind, hook in data["hooks"].items()
        },
    )


def names_library(source: Source) -> bool:
    """Whether a source has the name of a library that we know of anywhere."""
    return any(trigger in source.data for trigger in table().triggers)


def concerns(source: Source, project: Project | None, codes: frozenset[str]) -> bool:
    """Whether any of the rules may have something to say about a source."""
    known = table()
    if not names_library(source):
        return False
    asked = [known.rules.get(code, ()) for code in codes if code.startswith("LL") and code[2:] < "800"]
    if any(not needs for needs in asked):
        return True
    own = Glance(source.data)
    possible = [needs for needs in asked if _possible(needs, own.present)]
    if possible and any(_met(needs, [words_of(source)], known) for needs in possible):
        return True
    if project is None:
        return False
    modules = _reached(own, source, project)
    present = own.present.union(*(glance.present for _, glance in modules))
    possible = [needs for needs in asked if _possible(needs, present)] if modules else []
    if not possible:
        return False
    read = [project.read(path, source) for path, _ in modules]
    among = [words_of(source), *(words_of(module) for module in read if module is not None)]
    beside = Beside(among[0], among[1:])
    return any(_met(needs, [*among[:1], beside], known) for needs in possible)


class Glance:
    """What the bytes of a file show without a look at what is code: which words of the table are there, and what may be imported."""

    def __init__(self, data: bytes) -> None:
        lower = data.lower()
        self.present = frozenset(word for word, texts in _texts() if all(text in (lower if word.startswith(b"~") else data) for text in texts))
        self.imports = frozenset(_imports(data))


@lru_cache(maxsize=1)
def _texts() -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
    """The words of the table, each with the bytes that are there where the word is."""
    known = table()
    words = {word for needs in known.rules.values() for some in needs for word in some}

    def texts(word: bytes) -> tuple[bytes, ...]:
        if word.startswith(b"@"):
            return (known.hooks[word][0],)
        parts = word.split(b" & ")
        # What stands together in one rule may stand in two modules of a project, so only a single part is asked of one file.
        return (parts[0].strip(b"*~").split(b" ")[-1],)

    return tuple((word, texts(word)) for word in sorted(words))


def _possible(needs: tuple[tuple[bytes, ...], ...], present: frozenset[bytes]) -> bool:
    return all(not present.isdisjoint(some) for some in needs)


def _imports(code: bytes) -> Iterator[tuple[str, int]]:
    """The modules that are imported, each with the level of a relative import; names that may be modules, too."""
    for dots, base, names, plain in _IMPORT.findall(code):
        if plain:
            for part in plain.split(b","):
                yield part.split(b" as ")[0].strip().decode(errors="replace"), 0
            continue
        module = base.decode(errors="replace")
        yield module, len(dots)
        for name in re.findall(rb"(\w+)(?:\s+as\s+\w+)?", names):
            inner = name.decode(errors="replace")
            yield f"{module}.{inner}" if module else inner, len(dots)


@dataclass(eq=False)
class Unit:
    """A function or a class: its name, the words of its own lines, and what it stands in."""

    name: bytes
    is_class: bool
    parent: Unit | None
    parameter: bytes = b""
    decorators: bytes = b""
    lines: list[bytes] = field(default_factory=list)
    inner: list[Unit] = field(default_factory=list)

    @cached_property
    def words(self) -> frozenset[bytes]:
        """The words of its own lines."""
        return frozenset(_WORD.findall(b"\n".join(self.lines)))


class Words:
    """The words of a source's code, and its functions and classes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.code = _EXPORTED.sub(b" ", _TEXTS.sub(_KEPT, data))

    def has(self, word: bytes) -> bool:
        """Whether a word of the table is there; see ``registry.recorded``."""
        if word.startswith(b"~"):
            return word[1:] in self._lower
        if word.startswith(b"import "):
            return word[7:] in self._imported
        return word[:-1] in self.code if word.endswith(b"*") else word in self.words

    @cached_property
    def words(self) -> frozenset[bytes]:
        """The words of the code."""
        return frozenset(_WORD.findall(self.code))

    @cached_property
    def used(self) -> frozenset[bytes]:
        """The words of the code without those that are only imported."""
        return frozenset(_WORD.findall(_IMPORT.sub(lambda m: m[0] if b" as " in m[0] else b" ", self.code)))

    @cached_property
    def _lower(self) -> bytes:
        return self.data.lower()

    @cached_property
    def _imported(self) -> frozenset[bytes]:
        return frozenset(word for some in _IMPORTED.findall(self.code) for part in some for word in _NAME.findall(part))

    @cached_property
    def module(self) -> Unit:
        """The module as a unit, with those that it consists of."""
        return _units(self.code)

    @cached_property
    def named(self) -> dict[bytes, list[Unit]]:
        """Its functions and classes by name, at any depth."""
        found: dict[bytes, list[Unit]] = {}
        for unit in _all(self.module):
            found.setdefault(unit.name, []).append(unit)
        return found


@lru_cache(maxsize=64)
def _words(data: bytes) -> Words:
    return Words(data)


def words_of(source: Source) -> Words:
    """The words of a source; those of the last ones are kept."""
    return _words(source.data)


class Beside(Words):
    """The words of what a source may execute in modules of its project: their own level, and the functions and classes that are named."""

    def __init__(self, own: Words, modules: list[Words]) -> None:
        self.modules = modules
        found: set[bytes] = set()
        seen: set[int] = set()
        new: frozenset[bytes] | set[bytes] = own.used
        units = [words.module for words in modules]
        while units or new:
            names = [word for word in new if not word.startswith(b"__") and word != b"forward"]  # those come with their class
            units += [unit for word in names for words in modules for unit in words.named.get(word, ())]
            new = set()
            while units:
                unit = units.pop()
                if id(unit) in seen:
                    continue
                seen.add(id(unit))
                new |= unit.words - found
                units += unit.inner if unit.parent is not None else []
                if unit.parent is not None and unit.parent.is_class and unit.parent.parent is not None:
                    units.append(unit.parent)
            new -= own.words
            found |= new
        self.words = frozenset(found)
        self.code = b"\n".join(sorted(found))

    def has(self, word: bytes) -> bool:
        """As for a source; a word that is no name counts wherever it is."""
        return any(words.has(word) for words in self.modules) if word.startswith((b"~", b"import ")) else super().has(word)

    @cached_property
    def named(self) -> dict[bytes, list[Unit]]:
        """The functions and classes of all modules by name."""
        found: dict[bytes, list[Unit]] = {}
        for words in self.modules:
            for name, units in words.named.items():
                found.setdefault(name, []).extend(units)
        return found

    @cached_property
    def module(self) -> Unit:
        """What the modules do on their own level."""
        return Unit(b"", True, None, lines=[line for words in self.modules for line in words.module.lines])


def _met(needs: tuple[tuple[bytes, ...], ...], among: list[Words], known: Table) -> bool:
    return all(any(_there(word, among, known) for word in some) for some in needs)


def _there(word: bytes, among: list[Words], known: Table) -> bool:
    if word.startswith(b"@"):
        return _hooked(word, among, known)
    return all(any(w.has(part) for w in among) for part in word.split(b" & "))


def _hooked(kind: bytes, among: list[Words], known: Table) -> bool:
    """Whether a class of the first source has the method, and one of the words can be executed by it."""
    method, not_data, words = known.hooks[kind]
    own = among[0]
    if b"def " + method not in own.words or not any(w.words & words for w in among):
        return False
    return any(
        not _executes(unit, among).isdisjoint(words)
        for unit in own.named.get(method, ())
        if not unit.is_class and not any(word in unit.parameter.lower() for word in not_data) and not _ungraded(unit)
    )


def _ungraded(unit: Unit) -> bool:
    """Whether nothing that a method computes carries a gradient, as its decorator says."""
    return b"no_grad" in unit.decorators and b"enable_grad" not in b"".join(unit.lines) and not unit.inner


def _all(unit: Unit) -> Iterator[Unit]:
    for inner in unit.inner:
        yield inner
        yield from _all(inner)


def _executes(start: Unit, among: list[Words]) -> set[bytes]:
    """The words of all that a method may execute: whatever its words name, and the words of that."""
    seen: set[int] = set()
    found: set[bytes] = set()
    waiting = [start, *(words.module for words in among)]
    while waiting:
        unit = waiting.pop()
        if id(unit) in seen:
            continue
        seen.add(id(unit))
        new = unit.words - found
        found |= new
        names = [word for word in new if not word.startswith(b"__") and word != start.name]  # those come with their class
        waiting += [other for word in names for words in among for other in words.named.get(word, ())]
        if unit.parent is not None:
            waiting += unit.inner
            if unit.parent.is_class:
                waiting.append(unit.parent)
    return found


def _units(code: bytes) -> Unit:
    """The functions and classes of a module by their indentation; a line that looks too shallow belongs to what is around."""
    module = Unit(b"", True, None)
    open_units: list[tuple[int, Unit]] = [(-1, module)]
    decorators: list[bytes] = []
    matches = list(_LINE.finditer(code))
    ends = [*(match.start() for match in matches[1:]), len(code)][: len(matches)]
    module.lines.append(code[: matches[0].start()] if matches else code)
    for match, end in zip(matches, ends, strict=True):
        text = code[match.start() : end]
        indent = len(match[1].expandtabs(8))
        while open_units[-1][0] >= indent:
            open_units.pop()
        around = open_units[-1][1]
        if match[3]:
            parameters = _PARAMETERS.match(code, match.end(4))
            unit = Unit(match[4], match[3] == b"class", around, parameters[1] if parameters else b"", b"".join(decorators), [*decorators, text])
            around.inner.append(unit)
            around.lines.extend(decorators)
            decorators = []
            open_units.append((indent, unit))
        elif match[2] or decorators:
            decorators.append(text)
        else:
            around.lines.append(text)
    open_units[-1][1].lines.extend(decorators)
    return module


def _reached(own: Glance, source: Source, project: Project) -> list[tuple[Path, Glance]]:
    """The modules of its project that a source imports, directly or not."""
    found: dict[Path, Glance] = {}
    here = Path(os.path.abspath(source.file)).parent if source.file else None
    waiting = [(here, own)]
    while waiting and len(found) <= MODULES:
        folder, glance = waiting.pop()
        if folder is None:
            break
        for name, level in glance.imports:
            if level == 0 and name.partition(".")[0].encode() in table().triggers:
                continue
            path = project.find(name, level, folder)
            if path is None or path in found:
                continue
            known = project.glances.get(path)
            if known is None:
                module = project.read(path, source)
                known = project.glances[path] = Glance(module.data if module is not None else b"")
            found[path] = known
            waiting.append((path.parent, known))
    return list(found.items())
