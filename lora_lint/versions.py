"""Severity is set arithmetic: facts about library releases, expressions over them, and what they mean on a target."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from lora_lint import _toml
from lora_lint.target import LIBRARIES, Target, releases

_FACTS = Path(__file__).parent / "facts"


@dataclass(frozen=True, eq=False)
class Fact:
    """A measured sentence about a library, with the releases on which it is true.

    ``ranges`` is by library: that of the file that it stands in, first, and others where only a pair of versions makes it true. ``message`` is the
    exact error text where it is about a crash. ``measured`` says by what run or comparison the ranges are known.
    """

    name: str
    ranges: Mapping[str, SpecifierSet]
    says: str
    message: str
    measured: str
    source: str

    def part(self, library: str, version: Version) -> bool:
        """Whether a release of one of its libraries is in that library's range."""
        return self.ranges[library].contains(version, prereleases=True)

    def on(self, versions: Mapping[str, Version]) -> bool:
        """Whether the fact is true on a release of each of its libraries. Raises ``KeyError`` where one is missing."""
        return all(self.part(library, versions[library]) for library in self.ranges)

    def range_text(self, negative: bool = False) -> str:
        """``transformers < 5.0.0``, or the complement; libraries joined by "with" or "or"."""
        return (" or " if negative else " with ").join(f"{library} {_stretches(library, held, negative)}" for library, held in self.ranges.items())


def _stretches(library: str, held: SpecifierSet, negative: bool) -> str:
    """The stretches of known releases that are in a range (or not), as ``< 5.0.0``, ``>= 5.4.0``, ``5.0.0 to 5.3.0``."""
    known = releases(library)
    parts = []
    for inside, run in itertools.groupby(known, key=lambda version: held.contains(version, prereleases=True)):
        if inside is negative:
            continue
        stretch = list(run)
        after = known.index(stretch[-1]) + 1
        if stretch[0] == known[0] and after == len(known):
            return "of any version"
        if stretch[0] == known[0]:
            parts.append(f"< {known[after]}")
        elif after == len(known):
            parts.append(f">= {stretch[0]}")
        else:
            parts.append(f"{stretch[0]} to {stretch[-1]}" if len(stretch) > 1 else str(stretch[0]))
    return " or ".join(parts) or "of no version"


@lru_cache(maxsize=1)
def facts() -> Mapping[str, Fact]:
    """All facts by name. Raises ``KeyError`` or ``ValueError`` where a file of facts is malformed (a test keeps them well formed)."""
    found: dict[str, Fact] = {}
    for library in LIBRARIES:
        path = _FACTS / f"{library}.toml"
        if not path.is_file():
            continue
        for name, row in _toml.loads(path.read_text(encoding="utf-8")).items():
            ranges = {library: row["holds"], **row.get("with", {})}
            held = {one: SpecifierSet(text) for one, text in ranges.items()}
            found[name] = Fact(name, held, row["says"], row.get("message", ""), row["measured"], row.get("source", ""))
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
EVERYWHERE = "on every supported version"


@dataclass(frozen=True)
class Verdict:
    """What an expression means on a target, in words: on which versions, and from where the target's are known."""

    level: Level
    text: str


def judge(expr: Expr, target: Target) -> Verdict:
    """Compare the versions that an expression means with those of the target."""
    held: dict[str, list[Fact]] = {}
    for fact in expr.facts():
        for library in fact.ranges:
            mine = held.setdefault(library, [])
            if fact not in mine:
                mine.append(fact)
    if _truths(expr, held, {library: releases(library) for library in held}) == {True}:
        return Verdict(Level.ALL, EVERYWHERE)
    seen = _truths(expr, held, {library: target.versions(library) for library in held})
    level = Level.ALL if seen == {True} else Level.NONE if seen == {False} else Level.SOME
    text = f"on {expr.text()}"
    known = [library for library in held if target.known(library)]
    if level is Level.ALL and known:
        on = ", ".join(f"{library} {_span(target.versions(library))} ({target.origin(library)})" for library in known)
        text = f"on {on}; it would not on {expr.text(negative=True)}"
    elif level is Level.SOME and known:
        by = [f"{target.origin(library)} ({library} {_span(target.versions(library))})" for library in known]
        text += f", which {' and '.join(by)} {'allows' if len(by) == 1 else 'allow'}"
    elif level is Level.SOME:
        free = ", ".join(f"{library} ({_span(releases(library))})" for library in held)
        text += f"; the versions are not pinned, so any supported release may be met: {free}"
    return Verdict(level, text)


def _truths(expr: Expr, held: Mapping[str, list[Fact]], versions: Mapping[str, Sequence[Version]]) -> set[bool]:
    """The truth values that an expression takes over all combinations of releases.

    Releases on which the same facts are true count once, so that the combinations stay few.
    """
    classes = [{tuple((fact, fact.part(library, version)) for fact in facts) for version in versions[library]} for library, facts in held.items()]
    seen = set()
    for combination in itertools.product(*classes):
        truth: dict[str, bool] = {}
        for fact, part in itertools.chain(*combination):
            truth[fact.name] = part and truth.get(fact.name, True)
        seen.add(expr.on(truth))
    return seen


def _span(versions: Sequence[Version]) -> str:
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
