"""What a rule reports: findings, their dataflow steps and their fixes.

Plain data without any dependency: reporters, the fix engine, the cache and the review bot all speak these types.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import total_ordering


@total_ordering
class Severity(enum.Enum):
    """How bad a finding is; ordered, so that thresholds are comparisons.

    ``ERROR``: on every version of the target it crashes or silently does not train. ``WARNING``: it does on a part of the target or under a
    condition that the source cannot show, or it trains worse than meant. ``NOTE``: works, but leans on something implicit.
    """

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    def __lt__(self, other: Severity) -> bool:
        order = list(Severity)
        return order.index(self) < order.index(other)


class Applicability(enum.Enum):
    """Whether a fix may be applied unasked (``SAFE``), on request (``UNSAFE``), or is only shown (``DISPLAY``)."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display-only"


@dataclass(frozen=True, order=True)
class Position:
    """A place in a text: 1-based line, 1-based column counted in code points (as ruff counts)."""

    line: int
    column: int


@dataclass(frozen=True, order=True)
class Span:
    """A half-open stretch of a file, from ``start`` up to but not including ``end``."""

    start: Position
    end: Position


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the bytes ``start:end`` of the file's UTF-8 text (see ``Source.data``) by ``text``; ``start == end`` inserts."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Fix:
    """Edits of one file that together cure a finding."""

    title: str
    applicability: Applicability
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Step:
    """One step of the dataflow that leads to a finding; ``path`` differs from the finding's where a project module takes part."""

    span: Span
    message: str
    path: str


class Verdict(enum.Enum):
    """What a real training step says of a finding; see ``Verification``."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REACHED = "not reached"
    NEEDS = "needs"


@dataclass(frozen=True)
class Verification:
    """The verdict of ``--verify`` on a finding.

    ``evidence`` is what was seen (or what is missing), in a line or two; ``versions`` the libraries that it was seen on, by name; ``device`` what
    the step ran on.
    """

    verdict: Verdict
    evidence: str
    versions: tuple[tuple[str, str], ...] = ()
    device: str = ""


@dataclass(frozen=True)
class Finding:
    """One report of one rule.

    ``message`` is one sentence: what happens and when. ``failure`` is the exact error text that the user will see, or ``None`` where the
    fault is silent. ``versions`` says on which library versions, and from where the target is known. ``help`` says what to do.
    """

    code: str
    name: str
    severity: Severity
    message: str
    path: str
    span: Span
    failure: str | None = None
    versions: str = ""
    condition: str = ""
    flow: tuple[Step, ...] = ()
    help: str = ""
    fix: Fix | None = None
    line_text: str = ""
    verification: Verification | None = None

    @property
    def refuted(self) -> bool:
        """Whether a real step showed that it does not happen; such a finding does not count."""
        return self.verification is not None and self.verification.verdict is Verdict.REFUTED

    @property
    def fingerprint(self) -> str:
        """Stable identity without a line number: file, rule and the text of the line."""
        import hashlib

        return hashlib.sha256("\0".join((self.path, self.code, self.line_text.strip())).encode("utf-8", "surrogateescape")).hexdigest()[:16]
