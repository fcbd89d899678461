"""LL705: a keyword is taken and does nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from lora_lint.api import moves, questions
from lora_lint.api.judge import judge
from lora_lint.api.moves import Move
from lora_lint.findings import Finding, Severity
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.values import TRUE
from lora_lint.rule import Context
from lora_lint.rules import _drift

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask the history which keywords vanish in ``**kwargs`` that nothing reads."""
    for function, call in questions.calls(ctx.recipe, ctx.target.known):
        for keyword, place, when in questions.keywords(ctx.recipe, call):
            ruling = judge(function.partition(".")[0], questions.swallows(function, keyword), ctx.target)
            if ruling is None:
                continue
            row = moves.listed("ignored", function, keyword, ruling.failing[-1])
            if row is not None and call.keywords[keyword] == TRUE and not row.get("new"):
                continue  # what it asks for is what happens
            accepted = ruling.failing[-1].accepted(function)
            near = difflib.get_close_matches(keyword, sorted(accepted.names), n=1, cutoff=0.7) if accepted is not None and row is None else []
            move = Move(near[0], guess=True) if near else Move(row.get("new", ""), same=bool(row.get("new")), says=row["says"]) if row else None
            leaf = function.rpartition(".")[2]
            yield ctx.finding(
                place,
                f"`{keyword}` does nothing: {leaf} takes any keyword and reads none of that name",
                case=escape(when, []),
                versions=ruling.verdict,
                severity=Severity.WARNING,
                advice=_drift.advice(move, keyword) if move is not None else "remove it",
                fix=_drift.keyword_fix(ctx, call, keyword, place, move),
            )
