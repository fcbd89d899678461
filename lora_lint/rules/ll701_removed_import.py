"""LL701: a name is imported, or called, that the target's releases do not have."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.api import moves, questions
from lora_lint.api.judge import Ruling, judge, oldest
from lora_lint.api.moves import Move
from lora_lint.findings import Finding, Fix
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Import, Site
from lora_lint.rule import Context
from lora_lint.rules import _drift

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask the history about each import, and about the names and methods that are called over a module or a class."""
    lost = set()
    for one, question in questions.imports(ctx.recipe, ctx.target.known):
        ruling = judge(one.name.partition(".")[0], question, ctx.target)
        if ruling is not None:
            lost.add(one.name)
            yield _finding(ctx, one.name, one.site, one, ruling)
    for function, call, question in questions.names(ctx.recipe, ctx.target.known):
        if not any(function == name or function.startswith(f"{name}.") for name in lost):
            ruling = judge(function.partition(".")[0], question, ctx.target)
            if ruling is not None and ruling.ever:
                yield _finding(ctx, function, call.site, None, ruling)


def _finding(ctx: Context, full: str, site: Site, one: Import | None, ruling: Ruling) -> Finding | None:
    judged = (*ruling.failing, *ruling.passing)
    move = moves.of_name(full, ruling.last_good, judged)
    safe = ctx.target.known(ruling.library) or moves.of_name(full, ruling.last_good, (*judged, oldest(ruling.library))) == move
    module, _, leaf = full.rpartition(".")
    lost = one is not None and (one.name == one.module or not any(world.has_module(one.module) for world in ruling.failing))
    gone = "is gone" if ruling.ever and ruling.since is not None else "is not there on every release" if ruling.ever else "does not exist"
    if lost and one is not None:
        what, failure = one.module, f"ModuleNotFoundError: No module named '{one.module}'"
    elif one is not None:
        what, failure = full, f"ImportError: cannot import name '{leaf}' from '{module}'"
    elif module.rpartition(".")[2][:1].isupper():
        what, failure = full, f"AttributeError: '{module.rpartition('.')[2]}' object has no attribute '{leaf}'"
    else:
        what, failure = full, f"AttributeError: module '{module}' has no attribute '{leaf}'"
    when = one.when if one is not None else ()
    return ctx.finding(
        site,
        f"`{what}` {gone}",
        case=escape(when, []),
        versions=ruling.verdict,
        failure=failure,
        severity=_drift.severity(ruling, move),
        advice=_advice(move, what),
        fix=_fix(ctx, one, move, safe) if one is not None and move is not None and (move.same or move.guess) else None,
    )


def _advice(move: Move | None, what: str) -> str:
    if move is None or not (move.new or move.says):
        return f"do without {what.rpartition('.')[2]}, or pin a release that has it"
    if move.guess and move.new:
        return f"did you mean {move.new}?"
    return move.says or f"use {move.new}"


def _fix(ctx: Context, one: Import, move: Move, safe: bool) -> Fix | None:
    """Import what stands for the name, under the name that the file uses."""
    stmt, alias = _statement(one), one.site.node
    if not ctx.here(one.site) or stmt is None or not isinstance(alias, cst.ImportAlias) or not move.new or one.name == one.module:
        return None
    module, _, leaf = move.new.rpartition(".")
    local = alias.evaluated_alias or one.name.rpartition(".")[2]
    name = leaf if leaf == local else f"{leaf} as {local}"
    title = f"Import {move.new}"
    safe = safe and not move.guess
    if module == one.module:
        if isinstance(alias.comma, cst.Comma):
            return ctx.fix(title, ctx.editor.replace(alias.name, leaf if alias.asname is not None else name), safe=safe)
        return ctx.fix(title, ctx.editor.replace(alias, name), safe=safe)
    if isinstance(stmt.names, cst.ImportStar) or stmt.relative or stmt.module is None:
        return None
    if len(stmt.names) == 1:
        return ctx.fix(title, ctx.editor.replace(stmt.module, module), ctx.editor.replace(alias, name), safe=safe)
    line = one.site.stmt
    if line is None:
        return None
    return ctx.fix(title, ctx.editor.remove_import(stmt, alias), ctx.editor.insert_after(line, f"from {module} import {name}"), safe=safe)


def _statement(one: Import) -> cst.ImportFrom | None:
    line = one.site.stmt
    if isinstance(line, cst.SimpleStatementLine):
        for small in line.body:
            if isinstance(small, cst.ImportFrom) and not isinstance(small.names, cst.ImportStar) and one.site.node in small.names:
                return small
    return None
