"""LL703: a method of a trainer is overridden with a signature that the library's calls do not fit."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.api import questions
from lora_lint.api.judge import judge
from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe.conditions import ALWAYS, escape
from lora_lint.recipe.events import Site
from lora_lint.rule import Context

NEEDS = (("library",),)

# What each training step calls; the others are called on some ways only.
_EACH_STEP = frozenset(("compute_loss", "training_step", "get_batch_samples", "log", "_maybe_log_save_evaluate", "_get_train_sampler"))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Hold each override against the calls that the library makes of it."""
    for one, question in questions.overrides(ctx.recipe, ctx.target.known):
        ruling = judge(one.base.partition(".")[0], question, ctx.target)
        missing = questions.unfit(ruling.failing[-1], one) if ruling is not None else None
        if ruling is None or missing is None:
            continue
        yield ctx.finding(
            Site(one.node.name, one.node, ctx.source),
            f"{one.base.rpartition('.')[2]} calls `{one.name}` with {missing.said}, which this override does not take",
            case=escape(ALWAYS, []),
            versions=ruling.verdict,
            failure=f"TypeError: {one.cls.name}.{one.name}() {missing.failure}",
            severity=Severity.ERROR if one.name in _EACH_STEP else Severity.NOTE,
            advice=f"add {missing.add} to its parameters",
            fix=_fix(ctx, one.node, missing.add),
        )


def _fix(ctx: Context, node: cst.FunctionDef, parameters: str) -> Fix | None:
    """Add the parameters behind the last one, where nothing stands behind it."""
    params = node.params
    closed = params.star_kwarg is None and not isinstance(params.star_arg, cst.Param) and not params.kwonly_params and params.params
    if not closed or parameters.startswith("*"):
        return None
    return ctx.fix(f"Add {parameters}", ctx.editor.add_parameter(node, parameters))
