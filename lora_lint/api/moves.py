"""Where a name or a keyword went: by the rows of ``moves.toml``, which people reviewed, else by what the library itself says."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.version import Version

from lora_lint import _toml
from lora_lint.api.store import store
from lora_lint.api.world import MODULE, Accepted, Definition, World, walk_names

_TABLE = Path(__file__).parent / "moves.toml"
_REMOVED = re.compile(r"deprecat|removed|no longer|renamed|replaced", re.IGNORECASE)
_INSTEAD = re.compile(
    r"(?:use|replaced by|renamed to|in favou?r of|set|pass(?:ing)?(?: an?| the)?)\s+(?:the |a |an )?[`'\"]+(?:--)?([\w.]+)", re.IGNORECASE
)
_CLOSE = 0.8


@dataclass(frozen=True)
class Move:
    """What stands for a name or keyword.

    ``new`` is the full name or the keyword; empty where nothing does. ``into`` is the configuration class that takes the keyword now. ``same``: it
    can be put in the old one's place, ``values`` saying what becomes of which literal. ``drop`` is "safe" or "unsafe" where leaving it out is the
    cure. ``guess``: it is only the nearest name.
    """

    new: str = ""
    into: str = ""
    same: bool = False
    drop: str = ""
    says: str = ""
    guess: bool = False
    values: dict[str, str] = field(default_factory=dict)


@lru_cache(maxsize=1)
def _rows() -> dict[str, list[dict[str, Any]]]:
    return _toml.loads(_TABLE.read_text(encoding="utf-8"))


def listed(kind: str, function: str, keyword: str, world: World) -> dict[str, Any] | None:
    """The row of ``moves.toml`` about a keyword of a callable (``kind`` "keyword" or "ignored"); rows of a base class hold for a class."""
    for row in _rows()[kind]:
        if row["old"] == keyword and (row["of"] == function or _covers(row["of"], function, world)):
            return row
    return None


def _covers(of: str, function: str, world: World) -> bool:
    """Whether a row about one callable holds for another: a class for what derives from it, a loader for those that choose a class."""
    theirs, behind = world.path(of)
    mine, rest = world.path(function)
    if not isinstance(theirs, Definition) or not isinstance(mine, Definition) or rest != behind:
        return False
    if theirs.key == mine.key:
        return True
    if not mine.is_class:
        return rest == ["from_pretrained"] and mine.module.rpartition(".")[2].startswith("modeling_") and theirs.name == "PreTrainedModel"
    if theirs.name == "PreTrainedModel" and rest and world.derives(mine, "_BaseAutoModelClass"):
        return True
    return world.derives(mine, theirs.name)


def of_keyword(function: str, keyword: str, before: World | None, now: Iterable[World]) -> Move | None:
    """What stands for a keyword that a callable does not take in the worlds ``now``, and took in ``before``; the new one is taken in all of them."""
    worlds = list(now)

    def taken(name: str, by: str = function) -> bool:
        return all((found := world.accepted(by)) is not None and name in found.names for world in worlds)

    at = before or worlds[-1]
    row = listed("keyword", function, keyword, at)
    if row is not None:
        return _by_row(row, function, worlds, taken)
    old = before.accepted(function) if before is not None else None
    paired = _paired(function)
    if paired and taken(keyword, paired):
        return Move(keyword, into=paired, same=True)
    if old is not None:
        new = old.renamed.get(keyword)
        if new and taken(new):
            return Move(new, same=True)
        told = _told(old, keyword)
        if told and taken(told):
            return Move(told, same=True, guess=False)
        if told and paired and taken(told, paired):
            return Move(told, into=paired, same=True)
    found = worlds[-1].accepted(function)
    near = difflib.get_close_matches(keyword, sorted(found.names), n=1, cutoff=_CLOSE) if found is not None and before is None else []
    if near and taken(near[0]):
        return Move(near[0], guess=True)
    return None


def _by_row(row: dict[str, Any], function: str, worlds: list[World], taken: Any) -> Move:
    new, says = row.get("new", ""), row.get("says", "")
    paired = _paired(function)
    into = paired if new and paired and not taken(new) and taken(new, paired) else ""
    holds = bool(new) and (bool(into) or taken(new)) and _from(row, function, worlds)
    return Move(new, into, holds, row.get("drop", ""), says, values=row.get("values", {}))


def _from(row: dict[str, Any], function: str, worlds: list[World]) -> bool:
    """Whether the new form means the same in all of the worlds."""
    if "from" not in row:
        return True
    library = row["of"].partition(".")[0]
    return all(store(library).releases[world.indexes[library]] >= Version(row["from"]) for world in worlds)


def _paired(function: str) -> str:
    """The configuration class that goes with a trainer."""
    return f"{function.removesuffix('Trainer')}Config" if function.startswith("trl.") and function.endswith("Trainer") else ""


def _told(accepted: Accepted, keyword: str) -> str:
    """What a text that announces the removal of a keyword says to use; the keyword stands before the announcement."""
    for text, _ in accepted.texts:
        said = _REMOVED.search(text)
        if said and re.search(rf"(?<![\w]){re.escape(keyword)}(?![\w])", text[: said.start()]):
            new = _INSTEAD.search(text, said.start())
            if new and new[1].rpartition(".")[2] != keyword:
                return new[1].rpartition(".")[2]
    return ""


def _method_of(name: str, module: str, world: World) -> str:
    """A class that a module exports and that has a method of that name."""
    for exported in walk_names(world, module):
        found = world.resolve(module, exported)
        if isinstance(found, Definition) and found.is_class and not name.startswith("_") and isinstance(world.member(found, name), tuple):
            return exported
    return ""


def of_name(full: str, before: World | None, now: Iterable[World]) -> Move | None:
    """What stands for a name that modules do not export in the worlds ``now``, and did in ``before``."""
    worlds = list(now)
    row = next((row for row in _rows()["name"] if row["old"] == full), None)
    if row is not None:
        new = row.get("new", "")
        there = not new or new.partition(".")[0] not in worlds[-1].indexes or all(world.exists(new) is not False for world in worlds)
        return Move(new if there else "", same=bool(row.get("same")) and there, says=row.get("says", ""))
    module, _, leaf = full.rpartition(".")
    root = full.partition(".")[0]
    if before is not None:
        found, rest = before.path(full)
        places = [f"{root}.{leaf}"]
        if isinstance(found, Definition) and not rest:
            places.append(f"{found.module}.{found.name}")
        for place in places:
            if place != full and leaf[:1] != "_" and all(isinstance(world.path(place)[0], Definition) for world in worlds):
                return Move(place, same=True)
        return None
    owner = _method_of(leaf, module, worlds[-1]) if worlds[-1].path(module)[0] is MODULE else ""
    if owner:
        return Move(says=f"it is a method of {owner}", guess=True)
    near = difflib.get_close_matches(leaf, list(walk_names(worlds[-1], module)), n=1, cutoff=_CLOSE) if worlds[-1].path(module)[0] is MODULE else []
    return Move(f"{module}.{near[0]}", guess=True) if near else None
