"""Severity is set arithmetic: facts about library releases, expressions over them, and what they mean on a target."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from lora_lint import _toml
from lora_lint.target import LIBRARIES, Target, releases

_FACTS = Path(__file__).parent / "facts"


@dataclass(frozen=True)
class Fact:
    """A measured sentence about a library, with the releases on which it is true.

    ``message`` is the exact error text where it is about a crash. ``measured`` says by what run or comparison the range is known.
    """

    name: str
    library: str
    holds: SpecifierSet
    says: str
    message: str
    measured: str
    source: str

    def on(self, version: Version) -> bool:
        """Whether the fact is true on a release."""
        return self.holds.contains(version, prereleases=True)

    def range_text(self, negative: bool = False) -> str:
        """``transformers < 5.0.0``, or the complement."""
        parts = sorted(self.holds, key=lambda s: Version(s.version))
        if not negative:
            return f"{self.library} " + ", ".join(f"{s.operator} {s.version}" for s in parts)
        opposite = {"<": ">=", ">=": "<", "<=": ">", ">": "<="}
        return f"{self.library} " + " or ".join(f"{opposite[s.operator]} {s.version}" for s in parts)


@lru_cache(maxsize=1)
def facts() -> Mapping[str, Fact]:
    """All facts by name. Raises ``KeyError`` or ``ValueError`` where a file of facts is malformed (a test keeps them well formed)."""
    found: dict[str, Fact] = {}
    for library in LIBRARIES:
        path = _FACTS / f"{library}.toml"
        if not path.is_file():
            continue
        for name, row in _toml.loads(path.read_text(encoding="utf-8")).items():
            found[name] = Fact(name, library, SpecifierSet(row["holds"]), row["says"], row.get("message", ""), row["measured"], row.get("source", ""))
    return found


def error_text(name: str) -> str:
    """The exact error text of a fact. Raises ``KeyError`` for an unknown one."""
    return facts()[name].message


class Level(enum.Enum):
    """How a range of versions lies to a target: it contains all of it, a part, or nothing."""

    ALL = "all"
    SOME = "some"
    NONE = "none"


class Expr:
    """An expression over facts; combine with ``&``, ``|`` and ``~``."""

    def __and__(self, other: Expr) -> Expr:
        return _Both(self, other)

    def __or__(self, other: Expr) -> Expr:
        return _Either(self, other)

    def __invert__(self) -> Expr:
        return _Not(self)

    def facts(self) -> Iterator[Fact]:
        """The facts that it speaks of."""
        raise NotImplementedError

    def on(self, truth: Mapping[str, bool]) -> bool:
        """Its truth where each fact is true or false as given."""
        raise NotImplementedError

    def text(self, negative: bool = False) -> str:
        """The versions that it means, for people."""
        raise NotImplementedError


class Always(Expr):
    """True on every version."""

    def facts(self) -> Iterator[Fact]:
        yield from ()

    def on(self, truth: Mapping[str, bool]) -> bool:
        return True

    def text(self, negative: bool = False) -> str:
        return "no version" if negative else "every version"


class F(Expr):
    """A fact by name. Raises ``KeyError`` for an unknown one."""

    def __init__(self, name: str) -> None:
        self.fact = facts()[name]

    def facts(self) -> Iterator[Fact]:
        yield self.fact

    def on(self, truth: Mapping[str, bool]) -> bool:
        return truth[self.fact.name]

    def text(self, negative: bool = False) -> str:
        return self.fact.range_text(negative)


@dataclass(frozen=True, eq=False)
class _Not(Expr):
    inner: Expr

    def facts(self) -> Iterator[Fact]:
        return self.inner.facts()

    def on(self, truth: Mapping[str, bool]) -> bool:
        return not self.inner.on(truth)

    def text(self, negative: bool = False) -> str:
        return self.inner.text(not negative)


@dataclass(frozen=True, eq=False)
class _Both(Expr):
    a: Expr
    b: Expr

    def facts(self) -> Iterator[Fact]:
        yield from self.a.facts()
        yield from self.b.facts()

    def on(self, truth: Mapping[str, bool]) -> bool:
        return self.a.on(truth) and self.b.on(truth)

    def text(self, negative: bool = False) -> str:
        return (" or " if negative else " with ").join((self.a.text(negative), self.b.text(negative)))


@dataclass(frozen=True, eq=False)
class _Either(Expr):
    a: Expr
    b: Expr

    def facts(self) -> Iterator[Fact]:
        yield from self.a.facts()
        yield from self.b.facts()

    def on(self, truth: Mapping[str, bool]) -> bool:
        return self.a.on(truth) or self.b.on(truth)

    def text(self, negative: bool = False) -> str:
        return (" with " if negative else " or ").join((self.a.text(negative), self.b.text(negative)))


ALWAYS = Always()


@dataclass(frozen=True)
class Verdict:
    """What an expression means on a target, in words: on which versions, and from where the target's are known."""

    level: Level
    text: str


def judge(expr: Expr, target: Target) -> Verdict:
    """Compare the versions that an expression means with those of the target."""
    by_library: dict[str, list[Fact]] = {}
    for fact in expr.facts():
        held = by_library.setdefault(fact.library, [])
        if fact not in held:
            held.append(fact)
    if not by_library:
        return Verdict(Level.ALL, "on every supported version")
    classes = [sorted({tuple((f.name, f.on(v)) for f in mine) for v in target.versions(library)}) for library, mine in by_library.items()]
    seen = {expr.on(dict(itertools.chain(*combination))) for combination in itertools.product(*classes)}
    level = Level.ALL if seen == {True} else Level.NONE if seen == {False} else Level.SOME
    known = [f"{name} {_versions(target, name)} ({target.origin(name)})" for name in by_library if target.known(name)]
    everywhere = {expr.on(dict(itertools.chain(*c))) for c in itertools.product(*_all_classes(by_library))}
    if everywhere == {True}:
        return Verdict(level, "on every supported version")
    if level is Level.ALL and known:
        text = f"on {', '.join(known)}; it would not on {expr.text(negative=True)}"
    elif level is Level.ALL:
        text = f"on {expr.text()}"
    else:
        unpinned = [f"{name} ({releases(name)[0]} to {releases(name)[-1]})" for name in by_library if not target.known(name)]
        text = f"on {expr.text()}"
        if known:
            text += f", which {', '.join(known)} allows"
        elif unpinned:
            text += f"; the versions are not pinned, so any supported release may be met: {', '.join(unpinned)}"
    return Verdict(level, text)


def _all_classes(by_library: Mapping[str, list[Fact]]) -> list[list[tuple[tuple[str, bool], ...]]]:
    return [sorted({tuple((f.name, f.on(v)) for f in mine) for v in releases(library)}) for library, mine in by_library.items()]


def _versions(target: Target, library: str) -> str:
    versions = target.versions(library)
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
