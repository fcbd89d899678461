"""LL402: an adapter is loaded without is_trainable=True and then trained."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.rule import Context
from lora_lint.versions import ALWAYS, Expr, F, Level, error_text

NEEDS = (("library",), ("trained",), ("adapter_loaded",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each loaded adapter that is trained whether anything made it trainable."""
    keeps = F("set-adapter-keeps-frozen")
    for life in q.models(ctx.recipe):
        if life.library == "unsloth":
            continue
        for run in q.trained(life):
            for load in life.all("adapter_loaded", before=run.order):
                when = q.freezes(life, load)
                happens = q.possible(run.when, load.when, when) if when is not None else None
                if happens is None or q.learns_elsewhere(ctx.recipe, run, life, happens):
                    continue
                versions: Expr = F("native-adapter-loaded-frozen") if load.by == "load_adapter" else ALWAYS
                cures = q.cures(life, load, run)
                activated = list(life.all("set_adapter", before=run.order, after=load.order))
                case = escape(happens, cures)
                if case is None and activated and ctx.verdict(keeps).level is Level.ALL:
                    case = escape(happens, [c for c in cures if all(c != e.when for e in activated)])
                    versions = versions & keeps
                inputs = any(q.possible(happens, e.when) is not None for e in life.all("input_grads", "prepared", before=run.order))
                yield ctx.finding(
                    load.site,
                    f"{load.by} loads the adapter frozen, and it is trained: "
                    + ("training runs and changes nothing" if inputs else "no parameter requires grad, the first backward pass fails"),
                    case=case,
                    versions=versions,
                    failure=None if inputs else error_text("backward-without-grad"),
                    flow=q.story((q.loaded(life), "the base is loaded"), (load, "the adapter is loaded for inference"), (run, "training starts")),
                    advice="load it with is_trainable=True",
                    fix=_fix(ctx, load.site.node) if ctx.here(load.site) and load.by != "load_adapter" else None,
                )


def _fix(ctx: Context, node: cst.CSTNode) -> Fix | None:
    """``is_trainable=True``; transformers' own load_adapter takes it on some releases only."""
    if not isinstance(node, cst.Call):
        return None
    given = next((a for a in node.args if a.keyword is not None and a.keyword.value == "is_trainable"), None)
    if given is not None:
        return (
            ctx.fix("Load the adapter trainable", ctx.editor.replace(given.value, "True"))
            if isinstance(given.value, cst.Name) and given.value.value == "False"
            else None
        )
    if sum(a.keyword is None for a in node.args) > 2:
        return None
    return ctx.fix("Load the adapter trainable", ctx.editor.add_keyword(node, "is_trainable=True"))
