"""What the history says on a target: on which of its releases something fails, and since when."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from packaging.version import Version

from lora_lint.api.store import LIBRARIES, store
from lora_lint.api.world import World
from lora_lint.target import Target, releases
from lora_lint.versions import Level, Verdict

Question = Callable[[World], bool | None]
"""Whether something fails on one release of each library; ``None`` where that cannot be known."""


@dataclass(frozen=True)
class Ruling:
    """The answer: how much of the target fails, in words.

    ``library`` is the one whose releases decide. ``failing`` and ``passing`` are worlds of the target; ``last_good`` is the newest world of all in
    which it works, ``ever`` whether there is one, ``since`` the release from which on it fails to the end.
    """

    library: str
    verdict: Verdict
    failing: tuple[World, ...]
    passing: tuple[World, ...]
    last_good: World | None
    since: Version | None

    @property
    def ever(self) -> bool:
        return self.last_good is not None


def judge(library: str, question: Question, target: Target) -> Ruling | None:
    """Ask a question about a library on the releases of the target; ``None`` where nothing fails or nothing can be known.

    A library that the target leaves open is judged on its newest release, or, where the target holds others back, on the newest of their time:
    what is missing only in releases that nobody asks for is no fault.
    """
    if library not in LIBRARIES:
        return None
    answers = list(_answers(library, question, target))
    failing = [world for world, answer in answers if answer is True]
    if not failing:
        return None
    fixed = failing[-1]
    for other in [other for other in fixed.until if other != library]:
        # Its own class may be the same, and what it inherits from the other library have changed.
        runs = list(stretches(other, question, fixed))
        if any(answer is False for _, _, answer in runs):
            judged = [(World({**fixed.indexes, other: index}), index) for index in _indexes(other, target)]
            return _ruling(other, [(world, question(world)) for world, _ in judged], runs, target)
    runs = list(stretches(library, question))
    return _ruling(library, answers, runs, target)


Run = tuple[int, World, "bool | None"]
"""A stretch of releases with the same answer: the first one, its world, the answer."""


def _ruling(library: str, answers: list[tuple[World, bool | None]], runs: list[Run], target: Target) -> Ruling:
    failing = tuple(world for world, answer in answers if answer is True)
    passing = tuple(world for world, answer in answers if answer is not True)
    last_good = next((world for _, world, answer in reversed(runs) if answer is False), None)
    level = Level.ALL if not passing and (target.known(library) or last_good is None) else Level.SOME
    since = store(library).releases[runs[-1][0]] if runs[-1][2] is True and last_good is not None else None
    return Ruling(library, Verdict(level, _words(library, runs, level, target)), failing, passing, last_good, since)


def oldest(library: str) -> World:
    """The first supported release of a library, with what goes with it."""
    return World(_partners(library, store(library).index(releases(library)[0]) or 0, Target.unknown()))


def _answers(library: str, question: Question, target: Target) -> Iterator[tuple[World, bool | None]]:
    """The answers on the target; releases that cannot answer differently from the one before are passed over."""
    until = -1
    for index in _indexes(library, target):
        if index < until:
            continue
        partners = _partners(library, index, target)
        world = World(partners)
        answer = question(world)
        yield world, answer
        until = _next(library, index, world, lambda later: _partners(library, later, target))
        for other in [other for other in world.until if other != library and target.known(other)]:
            oldest = _indexes(other, target)[:1]
            if oldest and oldest[0] != partners[other]:  # the target may leave a choice of those, too
                second = World({**partners, other: oldest[0]})
                yield second, question(second)


def _indexes(library: str, target: Target) -> list[int]:
    """The numbers of the releases of a library that are judged."""
    known = store(library)
    if target.known(library):
        found = {known.index(version) for version in target.versions(library)}
        return sorted(index for index in found if index is not None)
    day = min((_last_day(other, target) for other in LIBRARIES if target.known(other)), default=_NEVER)
    return [max(bisect.bisect_right(known.days, day) - 1, 0)]


_NEVER = "9999"


def _last_day(library: str, target: Target) -> str:
    """The day until which the newest release of a library that the target allows was the newest of all."""
    known = store(library)
    newest = known.index(target.versions(library)[-1])
    if newest is None:
        return known.days[0]
    version = known.releases[newest]
    return min((day for other, day in zip(known.releases, known.days, strict=True) if other.release[:2] > version.release[:2]), default=_NEVER)


def _partners(library: str, index: int, target: Target) -> dict[str, int]:
    """A release of each library that goes with one release of one: as the target says, else the newest of its time."""
    known = store(library)
    day = known.days[index + 1] if index + 1 < len(known.days) else _NEVER
    found = {library: index}
    for other in LIBRARIES:
        if other != library:
            allowed = _indexes(other, target) if target.known(other) else []
            found[other] = allowed[-1] if allowed else max(bisect.bisect_right(store(other).days, day) - 1, 0)
    return found


def _next(library: str, index: int, world: World, indexes: Callable[[int], dict[str, int]]) -> int:
    """The first later release of a library on which an answer may differ from that of a world, given what goes with it."""
    end = min(world.until.get(library, len(store(library).releases)), len(store(library).releases))
    others = {other: until for other, until in world.until.items() if other != library}
    if others:
        for later in range(index + 1, end):
            partners = indexes(later)
            if any(partners[other] >= until or partners[other] < world.indexes[other] for other, until in others.items()):
                return later
    return end


def _stretches(library: str, question: Question, indexes: Callable[[int], dict[str, int]]) -> Iterator[Run]:
    """The answers over all releases of a library."""
    count = len(store(library).releases)
    index = 0
    before: bool | str | None = "none yet"
    while index < count:
        world = World(indexes(index))
        answer = question(world)
        if answer != before:
            yield index, world, answer
        before = answer
        index = _next(library, index, world, indexes)


def stretches(library: str, question: Question, fixed: World | None = None) -> Iterator[Run]:
    """The answers over all releases of a library, the others being those of ``fixed``, or the newest of the time."""
    if fixed is None:
        return _stretches(library, question, lambda index: _partners(library, index, Target.unknown()))
    return _stretches(library, question, lambda index: {**fixed.indexes, library: index})


def _words(library: str, runs: list[Run], level: Level, target: Target) -> str:
    """On which versions, and from where the target's are known."""
    known = store(library).releases
    parts = []
    for place, (start, _, answer) in enumerate(runs):
        if answer is not True:
            continue
        end = runs[place + 1][0] if place + 1 < len(runs) else None
        if start == 0 and end is None:
            parts = ["of any version"]
        elif end is None:
            parts.append(f">= {known[start]}")
        elif start == 0:
            parts.append(f"< {known[end]}")
        else:
            parts.append(f"{known[start]} to {known[end - 1]}" if end - 1 > start else str(known[start]))
    text = f"{library} {' or '.join(parts)}"
    ever = parts != ["of any version"]
    if not target.known(library):
        return f"on {text}; its version is not pinned" if ever else f"on {text}"
    allowed = target.versions(library)
    span = str(allowed[0]) if len(allowed) == 1 else f"{allowed[0]} to {allowed[-1]}"
    if level is Level.ALL:
        return f"on {library} {span} ({target.origin(library)})" + (f", as on {text}" if ever else "")
    return f"on {text}, which {target.origin(library)} ({library} {span}) allows"
