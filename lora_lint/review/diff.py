"""Which lines of a file a pull request adds, and which it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet


@dataclass(frozen=True)
class Lines:
    """Line numbers at the head: those added, the first and last line of each hunk, and those only shown, with their numbers at the base."""

    added: frozenset[int] = frozenset()
    hunks: tuple[tuple[int, int], ...] = ()
    old: Mapping[int, int] = field(default_factory=dict)

    def first_added(self, start: int, end: int) -> int | None:
        """The first added line from ``start`` to ``end``."""
        return min((line for line in self.added if start <= line <= end), default=None)

    def same_hunk(self, start: int, end: int) -> bool:
        """Whether one hunk shows all lines from ``start`` to ``end``, as a comment on several lines wants."""
        return any(first <= start and end <= last for first, last in self.hunks)


def lines(patch: str | None) -> Lines:
    """The lines of a file's hunks; none where the forge shows no diff, or one that cannot be read."""
    if not patch:
        return Lines()
    try:
        files = PatchSet(f"--- a/file\n+++ b/file\n{patch.rstrip(chr(10))}\n")
    except UnidiffParseError:
        return Lines()
    hunks = [hunk for file in files for hunk in file]
    added = frozenset(_numbers(line.target_line_no for hunk in hunks for line in hunk if line.is_added))
    context = [(line.target_line_no, line.source_line_no) for hunk in hunks for line in hunk if line.is_context]
    old = {new: before for new, before in context if new is not None and before is not None}
    shown = [_numbers(line.target_line_no for line in hunk) for hunk in hunks]
    return Lines(added, tuple((numbers[0], numbers[-1]) for numbers in shown if numbers), old)


def _numbers(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]
