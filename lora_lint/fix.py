"""Applying fixes: which can go together, in which order, and when to take a pass back.

Knows nothing of LibCST, rules or files' contents; ``write_atomically`` is the only place that writes a user's file.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lora_lint.findings import Applicability, Edit, Finding, Fix, Severity
from lora_lint.source import Source, SourceError

MAX_PASSES = 10

Check = Callable[[Source], list[Finding]]


@dataclass(frozen=True)
class FixResult:
    """The file after fixing: what was cured, what is still reported, and one line for each fix that was taken back."""

    source_after: Source
    applied: list[Finding]
    remaining: list[Finding]
    rolled_back: list[str]


def apply(data: bytes, fixes: Iterable[Fix]) -> tuple[bytes, list[Fix]]:
    """Apply as many fixes as go together, in file order; the others (overlapping or touching an applied one) are for the next pass.

    An edit that two fixes share, such as the same import, is made once. A fix is applied whole or not at all; one whose edits overlap each
    other or reach outside ``data`` is not applied.
    """
    taken: list[Edit] = []
    applied: list[Fix] = []
    for fix in sorted((f for f in fixes if f.edits), key=lambda f: min((e.start, e.end) for e in f.edits)):
        edits = list(dict.fromkeys(fix.edits))
        own = sorted(edits, key=lambda e: (e.start, e.end))
        if own[0].start < 0 or any(e.end < e.start or e.end > len(data) for e in own) or any(a.end > b.start for a, b in itertools.pairwise(own)):
            continue
        fresh = [e for e in edits if e not in taken]
        if any(e.start <= t.end and t.start <= e.end for e in fresh for t in taken):
            continue
        taken += fresh
        applied.append(fix)
    pieces: list[bytes] = []
    end = 0
    for edit in sorted(taken, key=lambda e: (e.start, e.end)):
        pieces += [data[end : edit.start], edit.text.encode("utf-8")]
        end = edit.end
    return b"".join([*pieces, data[end:]]), applied


def fix_text(text_or_source: str | Source, check: Check, unsafe: bool) -> FixResult:
    """Apply the fixes that ``check`` offers until none is left, at most ``MAX_PASSES`` times; ``unsafe`` ones only when asked for.

    A fix is taken back and reported when its result does not parse, cannot be written in the file's encoding, or has a finding (warning or
    error) that was not there before. Raises what ``check`` raises on the unchanged source.
    """
    source = text_or_source if isinstance(text_or_source, Source) else Source.from_bytes(text_or_source.encode("utf-8"), "<text>")
    allowed = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
    applied: list[Finding] = []
    refused: dict[tuple[str, str], str] = {}
    findings = check(source)

    def open_offers() -> list[Finding]:
        return [f for f in findings if f.fix and f.fix.edits and f.fix.applicability in allowed and _key(f) not in refused]

    for _ in range(MAX_PASSES):
        offers = open_offers()
        step = _attempt(source, findings, offers, check)
        if isinstance(step, str) and len(offers) > 1:
            # One of them spoils the pass: leave out those that fail alone, and if the rest fails together, take one.
            alone = [_attempt(source, findings, [offer], check) for offer in offers]
            good = [offer for offer, result in zip(offers, alone, strict=True) if not isinstance(result, str)]
            refused.update({_key(offer): result for offer, result in zip(offers, alone, strict=True) if isinstance(result, str)})
            step = _attempt(source, findings, good, check)
            if isinstance(step, str):
                step = _attempt(source, findings, good[:1], check)
        elif isinstance(step, str):
            refused[_key(offers[0])] = step
        if isinstance(step, str):
            continue
        if not step.applied:
            break
        source, findings = step.source, step.findings
        applied += step.applied
    else:
        if open_offers():
            refused["", ""] = f"{source.path}: fixes do not settle after {MAX_PASSES} passes"
    return FixResult(source, applied, findings, list(refused.values()))


def write_atomically(path: str | os.PathLike[str], raw: bytes, ready: Callable[[], object] | None = None) -> None:
    """Replace a file's contents at once: readers see the old or the new file, never a part.

    Symbolic links are followed; mode and owner are kept. ``ready`` is called just before the file is replaced and may raise. Raises ``OSError``; the
    old file is then untouched and no temporary file is left. A process that is killed leaves none either where the system knows files without a
    name (Linux): there the new file gets one only when it is complete, for the moment that replacing takes.
    """
    real = Path(os.path.realpath(path))
    was = real.stat() if real.exists() else None
    if was is not None and not os.access(real, os.W_OK):
        raise PermissionError(13, "the file is read-only", str(real))
    temporary = real.with_name(f".{os.fsdecode(os.fsencode(real.name)[:100])}.{secrets.token_hex(6)}.tmp")
    nameless = _nameless(real.parent)
    try:
        with temporary.open("xb") if nameless is None else open(nameless, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
            if was is not None and hasattr(os, "fchown"):
                with contextlib.suppress(OSError):  # only root may give files away
                    os.fchown(file.fileno(), was.st_uid, was.st_gid)
            if was is not None:
                os.chmod(file.fileno() if os.chmod in os.supports_fd else temporary, stat.S_IMODE(was.st_mode))
            if ready is not None:
                ready()
            if nameless is not None:
                os.link(f"/proc/self/fd/{nameless}", temporary, src_dir_fd=nameless, follow_symlinks=True)
        temporary.replace(real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _nameless(folder: Path) -> int | None:
    """A new file without a name, which goes when nobody has it open; ``None`` where there is no such thing."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError:
        return None


@dataclass(frozen=True)
class _Step:
    """The outcome of one pass."""

    source: Source
    findings: list[Finding]
    applied: list[Finding]


def _attempt(source: Source, before: list[Finding], offers: list[Finding], check: Check) -> _Step | str:
    """Apply what goes together of ``offers``; one line saying why not when the result is not good."""
    data, fixes = apply(source.data, [f.fix for f in offers if f.fix])
    if not fixes or data == source.data:
        return _Step(source, before, [])
    cured = [f for f in offers if f.fix in fixes]
    names = ", ".join(f"{f.code} at {source.path}:{f.span.start.line}" for f in cured)
    try:
        after = source.with_text(data.decode("utf-8"))
        if after.data != data:
            return f"{names}: fix taken back, the file's encoding does not hold the result"
        _ = after.module
        if _compiles(source.text) and not _compiles(after.text):
            return f"{names}: fix taken back, Python {sys.version_info[0]}.{sys.version_info[1]} does not compile the result"
        findings = check(after)
    except SourceError as error:
        return f"{names}: fix taken back, {error.message}"
    edits = sorted({e for f in fixes for e in f.edits}, key=lambda e: (e.start, e.end))
    new = _new_findings(source, [f for f in before if f not in cured], after, findings, edits)
    if new:
        return f"{names}: fix taken back, it leads to {', '.join(f'{f.code} in line {f.span.start.line}' for f in new)}"
    return _Step(after, findings, cured)


def _compiles(text: str) -> bool:
    """Whether the running Python takes ``text``; it knows more than a grammar does, such as that a ``__future__`` import comes first."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<text>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _new_findings(before: Source, old: list[Finding], after: Source, new: list[Finding], edits: Sequence[Edit]) -> list[Finding]:
    """The findings of ``new``, warning or above, that no one of ``old`` accounts for: the same rule on the same line, moved or with the same text."""
    known = Counter((f.code, f.severity, after.position(_moved(before.offset(f.span.start), edits)).line, f.line_text.strip()) for f in old)
    for same_line in (True, False):
        unknown: list[Finding] = []
        for finding in new:
            line, text = finding.span.start.line, finding.line_text.strip()
            for key in known:
                code, severity, old_line, old_text = key
                if known[key] and code == finding.code and severity >= finding.severity and (old_line == line if same_line else old_text == text):
                    known[key] -= 1
                    break
            else:
                unknown.append(finding)
        new = unknown
    return [f for f in new if f.severity >= Severity.WARNING]


def _moved(offset: int, edits: Sequence[Edit]) -> int:
    """Where a byte of the old text is in the new one; a replaced byte is at the end of its replacement's old start."""
    shift = 0
    for edit in edits:
        if edit.end <= offset:
            shift += len(edit.text.encode("utf-8")) - (edit.end - edit.start)
        elif edit.start < offset:
            return edit.start + shift
    return offset + shift


def _key(finding: Finding) -> tuple[str, str]:
    """What a finding is known by from pass to pass."""
    return finding.fingerprint, finding.fix.title if finding.fix else ""
