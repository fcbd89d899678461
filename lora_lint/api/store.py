"""The data file of one library: for each name the releases on which it is the same, and what it is there."""

from __future__ import annotations

import bisect
import json
import zlib
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from packaging.version import Version

LIBRARIES = ("transformers", "peft", "trl", "accelerate", "bitsandbytes")
_DATA = Path(__file__).parent / "data"
_MODELS = "transformers.models."

Record = Any
"""What a name is in a release: see ``scripts/api_history/read.py``. ``None`` where it is not there."""


class Store:
    """The history of one library. Releases are numbered from 0, ascending; shards are unpacked when a module of theirs is asked for."""

    def __init__(self, library: str) -> None:
        self._raw = (_DATA / f"{library}.bin").read_bytes()
        size = int.from_bytes(self._raw[:4], "big")
        self._header: dict[str, Any] = json.loads(zlib.decompress(self._raw[4 : 4 + size]))
        self._body = 4 + size
        self._modules: dict[str, dict[str, Any]] = {}
        self._open: set[str] = set()

    @cached_property
    def releases(self) -> tuple[Version, ...]:
        """All releases that were read, ascending."""
        return tuple(Version(text) for text in self._header["releases"])

    @property
    def days(self) -> list[str]:
        """The day of each release's upload, as ``2024-08-22``."""
        return list(self._header["days"])

    @cached_property
    def settings(self) -> frozenset[str]:
        """The names that configurations of models know, in any release: a loader hands such keywords on."""
        return frozenset(self._header["settings"].split())

    def index(self, version: Version) -> int | None:
        """The number of the newest release not above a version; ``None`` below the first."""
        found = bisect.bisect_right(self.releases, version) - 1
        return found if found >= 0 else None

    def module(self, name: str) -> dict[str, Any]:
        """All that is known of a module, in any release; empty for one that never was."""
        shard = _shard(name)
        if shard not in self._open:
            self._open.add(shard)
            place = self._header["shards"].get(shard)
            if place is not None:
                start = self._body + place[0]
                self._modules.update(json.loads(zlib.decompress(self._raw[start : start + place[1]])))
        return self._modules.get(name, {})

    @cached_property
    def shards(self) -> tuple[str, ...]:
        """The names of modules, those of one model taken together."""
        return tuple(self._header["shards"])

    def at(self, module: str, kind: str, cls: str, name: str, index: int) -> tuple[Record, int]:
        """What a name is in release ``index``, and the first later release in which that changes (the number of releases where it does not)."""
        held = self.module(module).get(kind, {})
        runs = (held if kind == "n" else held.get(cls, {})).get(name)
        last = len(self._header["releases"])
        if not runs:
            return None, last
        place = bisect.bisect_right(runs[::2], index) - 1
        until = runs[2 * place + 2] if 2 * place + 2 < len(runs) else last
        return (runs[2 * place + 1] if place >= 0 else None), until


def _shard(module: str) -> str:
    if not module.startswith(_MODELS):
        return module
    parts = module.split(".")
    return ".".join(parts[:4] if parts[2] == "deprecated" else parts[:3])


@cache
def store(library: str) -> Store:
    """The history of a library of ``LIBRARIES``. Raises ``OSError`` where its file is missing."""
    return Store(library)
