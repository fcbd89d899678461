"""The target: the library versions that a script may meet, and from where each is known."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from lora_lint import _toml

LIBRARIES = ("transformers", "peft", "trl", "accelerate", "bitsandbytes", "torch")

_RELEASES = Path(__file__).parent / "facts" / "releases.toml"


class TargetError(Exception):
    """A target that cannot be used; the text is one clear line."""


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[Version, ...]]:
    data = _toml.loads(_RELEASES.read_text(encoding="utf-8"))
    return {name: tuple(Version(text) for text in data[name]["releases"]) for name in LIBRARIES}


def releases(library: str) -> tuple[Version, ...]:
    """All supported releases of a library of ``LIBRARIES``, ascending."""
    return _table()[library]


def split(text: str) -> list[str]:
    """Cut a list of requirements at spaces and at commas that do not go on with a specifier.

    >>> split("transformers >= 4.40, < 5 peft==0.12,trl")
    ['transformers>=4.40,<5', 'peft==0.12', 'trl']
    """
    tight = re.sub(r"\s*([<>=!~]+)\s*", r"\1", text)
    tight = re.sub(r"\s*,\s*(?=[<>=!~])", ",", tight)
    return [part for part in re.split(r"\s*,\s*(?![<>=!~])|\s+", tight) if part]


Known = Mapping[str, tuple[tuple[Version, ...], str]]
"""For some libraries: the releases that a script may meet, ascending, and where that stands."""


class Target:
    """For each library the releases that the script is meant to run on."""

    def __init__(self, known: Known) -> None:
        self._known = known

    @classmethod
    def unknown(cls) -> Target:
        """Nothing is known: all supported releases of everything."""
        return cls({})

    @classmethod
    def parse(cls, specs: Iterable[tuple[str, str]]) -> Target:
        """Read ``(requirements, origin)`` pairs, those of highest rank first.

        Requirements of one library from one origin hold together; of several origins the first wins. Raises ``TargetError`` for a malformed
        requirement, a library without facts, and a range that no known release is in.
        """
        specifiers: dict[str, tuple[SpecifierSet, str]] = {}
        for text, origin in specs:
            for part in split(text):
                library, specifier = _requirement(part, origin)
                before = specifiers.get(library)
                if before is None:
                    specifiers[library] = (specifier, origin)
                elif before[1] == origin:
                    specifiers[library] = (before[0] & specifier, origin)
        return cls({name: (select(name, spec, origin), origin) for name, (spec, origin) in specifiers.items() if str(spec)})

    def over(self, farther: Known) -> Target:
        """This target, with what another source knows of the libraries that it does not name."""
        return Target({**farther, **self._known})

    @property
    def restricted(self) -> Known:
        """The libraries that it restricts."""
        return self._known

    def versions(self, library: str) -> tuple[Version, ...]:
        """The releases of a library that the script may meet, ascending, never empty."""
        found = self._known.get(library)
        return found[0] if found else releases(library)

    def origin(self, library: str) -> str:
        """From where the versions are known; empty when they are not."""
        found = self._known.get(library)
        return found[1] if found else ""

    def known(self, library: str) -> bool:
        """Whether anything restricts the library's versions."""
        return library in self._known

    def describe(self) -> dict[str, str]:
        """The known part, for the eye: library to its version or first and last version, with the origin."""
        shown = {}
        for name, (versions, origin) in sorted(self._known.items()):
            text = str(versions[0]) if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
            shown[name] = f"{text} ({origin})"
        return shown


def _requirement(text: str, origin: str) -> tuple[str, SpecifierSet]:
    """The library and the versions that one requirement asks for."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        hint = ""
        if single := re.fullmatch(r"([A-Za-z0-9_.-]+)=([0-9][^=]*)", text):
            hint = f"; write {single[1]}=={single[2]}"
        raise TargetError(f"malformed requirement {text!r} ({origin}){hint}") from None
    if requirement.url or requirement.marker:
        raise TargetError(f"malformed requirement {text!r} ({origin}): only a name and versions, as in transformers==4.44.2")
    name = canonicalize_name(requirement.name)
    if name not in LIBRARIES:
        near = difflib.get_close_matches(name, LIBRARIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(LIBRARIES)}"
        raise TargetError(f"unknown target library {requirement.name!r} ({origin}): {hint}")
    return name, requirement.specifier


def select(library: str, specifier: SpecifierSet, origin: str) -> tuple[Version, ...]:
    """The known releases in a range, ascending; a version that the range names itself counts as a release where no known one fits.

    Raises ``TargetError`` where there is none.
    """
    chosen = {version for version in releases(library) if version in specifier}
    named: set[Version] = set()
    for one in specifier:
        try:
            version = Version(one.version)
        except InvalidVersion:  # a prefix such as ==4.44.*
            continue
        if one.operator in ("==", "===") or (not chosen and one.operator in (">=", "~=")):
            named.add(version)
    chosen |= {version for version in named if specifier.contains(version, prereleases=True)} if not chosen else set()
    if not chosen:
        known = releases(library)
        raise TargetError(f"no known release of {library} is in {specifier} ({origin}): known are {known[0]} to {known[-1]}")
    return tuple(sorted(chosen))
