"""Runs the whole analysis over many inputs in children that may die, and says what became of each.

The engine's pre-filter is left out: every input is parsed, executed abstractly and asked all rules, whatever libraries it names.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lora_lint import codes, engine, recipe, rules
from lora_lint.config import Settings
from lora_lint.report import FORMATS, Report, render
from lora_lint.source import Source, SourceError, source_of
from lora_lint.suppressions import Suppressions
from lora_lint.target import Target

MEMORY = 4 << 30
"""What a child may take; more is a crash (``MemoryError``, or its end)."""

SECONDS = 120.0
"""After which an input counts as hanging."""

EVERYTHING = frozenset(codes.META)
SETTINGS = Settings(EVERYTHING)


@dataclass(frozen=True)
class Outcome:
    """What became of one input: ``ok``, ``refused`` (a ``SourceError``, with its message), ``crash``, ``died`` or ``hang``; and the "
    "seconds it took."""

    name: str
    kind: str
    text: str
    seconds: float

    @property
    def bad(self) -> bool:
        return self.kind in ("crash", "died", "hang")


def analyse(source: Source) -> None:
    """All that a check does with a source, for every rule. Raises ``SourceError`` for what may be refused."""
    _ = source.module
    try:
        found = rules.run(recipe.build(source, None), Target.unknown(), EVERYTHING)
    except RecursionError:
        raise SourceError("nested too deeply to be analysed") from None
    outcome = Suppressions(source).apply(found, EVERYTHING)
    for finding in outcome.kept:
        if finding.fix is not None:
            assert all(0 <= edit.start <= edit.end <= len(source.data) for edit in finding.fix.edits), finding
    if outcome.kept:
        report = Report([engine.FileResult(source.path, source, outcome.kept, outcome.suppressed)])
        for name in FORMATS:
            render(report, name)
        result = engine.check_and_fix(source, SETTINGS, unsafe=True)
        if result.source is not None and result.fixed:
            source.encode(result.source.text)


def one_file(name: str) -> None:
    """``analyse`` for a file."""
    analyse(Source.read(Path(name)))


def one_text(text: str) -> None:
    """``analyse`` for a program."""
    analyse(source_of(text.encode("utf-8", "surrogatepass"), "<program>.py"))


def run(inputs: Iterable[tuple[str, str]], work: Callable[[str], None], *, batch: int = 200, seconds: float = SECONDS) -> Iterator[Outcome]:
    """The outcome of ``work(argument)`` for each ``(name, argument)``, in order."""
    waiting = list(inputs)
    while waiting:
        done = 0
        for outcome in _batch(waiting[:batch], work, seconds):
            done += 1
            yield outcome
        del waiting[:done]


def _batch(inputs: list[tuple[str, str]], work: Callable[[str], None], seconds: float) -> Iterator[Outcome]:
    """Outcomes of as many inputs as one child lives through; the one that ends it is the last."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(inputs, work, writing)
    os.close(writing)
    lines = _lines(reading, seconds)
    try:
        for name, _ in inputs:
            before = time.monotonic()
            line = next(lines, None)
            if line is None:
                hung = time.monotonic() - before >= seconds
                yield Outcome(name, "hang" if hung else "died", f"no answer after {seconds:.0f} s" if hung else "the process ended", 0)
                return
            yield Outcome(name, *json.loads(line))
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _lines(reading: int, seconds: float) -> Iterator[bytes]:
    """The lines that a child writes; they end when it does, or when it is silent for too long."""
    held = b""
    while True:
        line, found, rest = held.partition(b"\n")
        if found:
            held = rest
            yield line
            continue
        if not select.select([reading], [], [], seconds)[0]:
            return
        more = os.read(reading, 1 << 16)
        if not more:
            return
        held += more


def _child(inputs: list[tuple[str, str]], work: Callable[[str], None], writing: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["LORA_LINT_RAISE"] = "1"
    try:
        for _, argument in inputs:
            began = time.process_time()
            try:
                work(argument)
                kind, text = "ok", ""
            except SourceError as error:
                kind, text = "refused", error.message
            except BaseException:
                kind, text = "crash", traceback.format_exc(limit=-12)
            os.write(writing, json.dumps([kind, text, time.process_time() - began]).encode() + b"\n")
    finally:
        os._exit(0)


def summary(outcomes: Iterable[Outcome], out: Callable[[str], object] = print) -> tuple[int, list[Outcome]]:
    """Tell what became of the inputs; returns how many there were, and the bad ones."""
    counts: dict[str, int] = {}
    refused: dict[str, int] = {}
    bad: list[Outcome] = []
    slow: list[tuple[float, str]] = []
    began = time.monotonic()
    for number, outcome in enumerate(outcomes, 1):
        counts[outcome.kind] = counts.get(outcome.kind, 0) + 1
        if outcome.kind == "refused":
            key = outcome.text.partition(":")[0]
            refused[key] = refused.get(key, 0) + 1
        if outcome.bad:
            bad.append(outcome)
            out(f"{outcome.kind}: {outcome.name}\n{outcome.text}")
        slow = sorted([*slow, (outcome.seconds, outcome.name)], reverse=True)[:5]
        if number % 500 == 0:
            print(f"  {number} inputs, {time.monotonic() - began:.0f} s, {len(bad)} bad", file=sys.stderr, flush=True)
    out(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing to try")
    for reason, count in sorted(refused.items(), key=lambda pair: -pair[1]):
        out(f"  refused: {count} × {reason}")
    for seconds, name in slow:
        out(f"  slowest: {seconds:.2f} s {name}")
    return sum(counts.values()), bad
