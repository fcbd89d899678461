"""On which releases a script can run at all: what its imports, keywords and overrides allow together."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lora_lint.api import questions
from lora_lint.api.judge import Question, stretches
from lora_lint.api.store import LIBRARIES, store
from lora_lint.api.world import World
from lora_lint.recipe.events import Site
from lora_lint.recipe.machine import Recipe
from lora_lint.target import releases


@dataclass(frozen=True)
class Bound:
    """Something in the script that fails on a part of a library's releases: what, on which line, and on which (as stretches)."""

    what: str
    line: int
    fails: tuple[tuple[str, str], ...]


@dataclass
class Allowed:
    """The releases of a library on which nothing in the script is known to fail, ascending, and what rules out the others."""

    versions: list[str]
    bounds: list[Bound] = field(default_factory=list)


@dataclass(frozen=True)
class Inference:
    """For each library that the script uses what it allows, and one release of each that were the newest at the same time, if there are any."""

    libraries: dict[str, Allowed]
    together: dict[str, str]


def infer(recipe: Recipe) -> Inference:
    """Ask everything that the recipe asks of the history about every supported release."""
    bad: dict[str, set[int]] = {}
    bounds: dict[str, list[Bound]] = {}
    used = {one.name.partition(".")[0] for one in recipe.imports} & set(LIBRARIES)
    told = set()
    for what, site, library, question in _asked(recipe):
        used.add(library)
        here = site.source is recipe.source or site.source.path == recipe.source.path
        line = recipe.source.span(site.node).start.line if here else 0
        if (what, line) in told:
            continue
        told.add((what, line))
        for failing, indexes in _fails(library, question).items():
            supported = indexes & set(_supported(failing))
            if supported:
                bad.setdefault(failing, set()).update(supported)
                bounds.setdefault(failing, []).append(Bound(what, line, tuple(_runs(failing, supported))))
    found = {}
    for library in (one for one in LIBRARIES if one in used or one in bad):
        left = [index for index in _supported(library) if index not in bad.get(library, set())]
        found[library] = Allowed([str(store(library).releases[index]) for index in left], sorted(bounds.get(library, []), key=lambda b: b.line))
    return Inference(found, _together({library: allowed.versions for library, allowed in found.items()}))


def _asked(recipe: Recipe) -> Iterator[tuple[str, Site, str, Question]]:
    def nothing(library: str) -> bool:
        return False

    for one, question in questions.imports(recipe, nothing):
        yield f"`{one.name}`", one.site, one.name.partition(".")[0], question
    imported = {one.name for one in recipe.imports}
    for function, call, question in questions.names(recipe, nothing):
        if not any(function == name or function.startswith(f"{name}.") for name in imported if "." in name):
            yield f"`{function}`", call.site, function.partition(".")[0], question
    for function, call in questions.calls(recipe, nothing):
        for keyword, place, _ in questions.keywords(recipe, call):
            yield f"`{keyword}` of {function.rpartition('.')[2]}", place, function.partition(".")[0], questions.refuses(function, keyword)
    for override, question in questions.overrides(recipe, nothing):
        site = Site(override.node.name, override.node, recipe.source)
        yield f"the signature of {override.cls.name}.{override.name}", site, override.base.partition(".")[0], question


def _supported(library: str) -> list[int]:
    first = store(library).index(releases(library)[0]) or 0
    return list(range(first, len(store(library).releases)))


def _fails(library: str, question: Question) -> dict[str, set[int]]:
    """The releases on which something fails, each laid to the library whose release decides."""
    found: dict[str, set[int]] = {}
    runs = list(stretches(library, question))
    for place, (start, world, answer) in enumerate(runs):
        if answer is not True:
            continue
        end = runs[place + 1][0] if place + 1 < len(runs) else len(store(library).releases)
        for other in [other for other in world.until if other != library]:
            theirs = list(stretches(other, question, World(world.indexes)))
            if any(reply is False for _, _, reply in theirs):
                for position, (first, _, reply) in enumerate(theirs):
                    last = theirs[position + 1][0] if position + 1 < len(theirs) else len(store(other).releases)
                    if reply is True:
                        found.setdefault(other, set()).update(range(first, last))
                break
        else:
            found.setdefault(library, set()).update(range(start, end))
    return found


def _runs(library: str, indexes: set[int]) -> Iterator[tuple[str, str]]:
    """Neighbouring releases as (first, last)."""
    ordered = sorted(indexes)
    start = 0
    for place in range(1, len(ordered) + 1):
        if place == len(ordered) or ordered[place] != ordered[place - 1] + 1:
            yield str(store(library).releases[ordered[start]]), str(store(library).releases[ordered[place - 1]])
            start = place


def _together(allowed: dict[str, list[str]]) -> dict[str, str]:
    """The newest allowed releases of a common time; empty where a library has none."""
    if not allowed or not all(allowed.values()):
        return {}
    days: dict[str, list[tuple[str, str]]] = {}
    ends = []
    for library, versions in allowed.items():
        known = store(library)
        by_version = {str(version): (day, place) for place, (version, day) in enumerate(zip(known.releases, known.days, strict=True))}
        days[library] = sorted((by_version[version][0], version) for version in versions)
        last = by_version[versions[-1]][1]
        ends.append(known.days[last + 1] if last + 1 < len(known.days) else "9999")
    end = min(ends)
    chosen = {}
    for library, listed in days.items():
        place = bisect.bisect_left([day for day, _ in listed], end)
        if place == 0:
            return {}
        chosen[library] = listed[place - 1][1]
    return chosen


def to_json(found: Inference) -> dict[str, Any]:
    """Plain data for programs."""
    return {
        "libraries": {
            library: {
                "versions": allowed.versions,
                "bounds": [{"what": bound.what.replace("`", ""), "row": bound.line or None, "fails": bound.fails} for bound in allowed.bounds],
            }
            for library, allowed in found.libraries.items()
        },
        "together": found.together,
    }


def render(found: Inference) -> str:
    """The releases, what rules out the others, and a line for pip."""
    if not found.libraries:
        return "The script uses none of the libraries whose history is known.\n"
    width = max(map(len, found.libraries))
    lines = []
    for library, allowed in found.libraries.items():
        indexes = {index for version in allowed.versions if (index := _index(library, version)) is not None}
        spans = [first if first == last else f"{first} to {last}" for first, last in _runs(library, indexes)]
        everything = len(indexes) == len(_supported(library))
        lines.append(f"{library.ljust(width)}  {'any supported release' if everything else ', '.join(spans) or 'no release takes all of it'}")
        for bound in allowed.bounds:
            fails = ", ".join(_said(library, first, last) for first, last in bound.fails)
            lines.append(f"{' ' * width}    {bound.what}{f' (line {bound.line})' if bound.line else ''} fails {fails}")
    if found.together:
        lines.append("of one time: pip install " + " ".join(f"{library}=={version}" for library, version in found.together.items()))
    return "\n".join(lines) + "\n"


def _index(library: str, version: str) -> int | None:
    from packaging.version import Version

    return store(library).index(Version(version))


def _said(library: str, first: str, last: str) -> str:
    supported = _supported(library)
    known = store(library).releases
    if first == str(known[supported[0]]):
        after = _index(library, last)
        return f"before {known[after + 1]}" if after is not None and after + 1 < len(known) else "on every release"
    if last == str(known[-1]):
        return f"from {first} on"
    return f"on {first}" if first == last else f"on {first} to {last}"
