"""LL704: a name or keyword works on the target and fails on a later release."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.api import moves, questions
from lora_lint.api.judge import Question, judge
from lora_lint.api.store import LIBRARIES
from lora_lint.api.world import newest
from lora_lint.findings import Finding, Severity
from lora_lint.recipe.conditions import Condition, escape
from lora_lint.recipe.events import Site
from lora_lint.rule import Context
from lora_lint.rules import _drift
from lora_lint.target import Target

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask the history of what the target takes whether a later release refuses it, and what the newest one still takes under an old name."""
    for function, call in questions.calls(ctx.recipe, ctx.target.known):
        for keyword, place, when in questions.keywords(ctx.recipe, call):
            if ctx.target.known(function.partition(".")[0]):
                yield _later(ctx, function, keyword, place, when)
            else:
                yield _renamed(ctx, function, keyword, place, when)


def _later(ctx: Context, function: str, keyword: str, place: Site, when: Condition) -> Finding | None:
    """A keyword that every release of the target takes, and the newest refuses."""
    library = function.partition(".")[0]
    question: Question = questions.refuses(function, keyword)
    if question(newest()) is not True or judge(library, question, ctx.target) is not None:
        return None
    ruling = judge(library, question, Target.unknown())
    if ruling is None or ruling.since is None:
        return None
    move = moves.of_keyword(function, keyword, ruling.last_good, ruling.failing)
    return ctx.finding(
        place,
        f"`{keyword}` of {function.rpartition('.')[2]} is refused from {ruling.library} {ruling.since} on",
        case=escape(when, []),
        severity=Severity.NOTE,
        advice=_drift.advice(move, keyword),
    )


def _renamed(ctx: Context, function: str, keyword: str, place: Site, when: Condition) -> Finding | None:
    """A keyword that the newest release still takes under its old name."""
    accepted = newest().accepted(function) if function.partition(".")[0] in LIBRARIES else None
    new = accepted.renamed.get(keyword) if accepted is not None else None
    if not new:
        return None
    return ctx.finding(
        place,
        f"`{keyword}` of {function.rpartition('.')[2]} is an old name of `{new}`",
        case=escape(when, []),
        severity=Severity.NOTE,
        advice=f"use `{new}`",
    )
