"""LL404: every parameter is frozen after the adapters were attached."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.events import Event, ModelLife
from lora_lint.rule import Context
from lora_lint.versions import error_text

NEEDS = (("library",), ("trained",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each freeze of a whole model whether adapters were there before it."""
    for life in q.models(ctx.recipe):
        for found in q.frozen(life):
            attached = q.attached(life, found.event.order)
            if found.event.kind != "frozen" or not attached or q.learns_elsewhere(ctx.recipe, found.run, life, found.happens):
                continue
            wrap, site = attached[-1], found.event.site
            if len(site.calls) > len(found.run.site.calls) and wrap.site.function != site.function:
                site = site.calls[-1]  # a helper is right for one model and wrong for another: the call is what counts
            yield ctx.finding(
                site,
                "Nothing is left to train: every parameter is frozen here, the adapters included",
                case=found.case,
                failure=None if q.inputs_require_grad(life, found) else error_text("backward-without-grad"),
                flow=q.story((wrap, "adapters are attached"), (found.event, "every parameter is frozen here"), (found.run, "training starts")),
                advice="freeze before the adapters are attached, and leave them trainable",
                fix=_fix(ctx, life, wrap, found.event),
            )


def _fix(ctx: Context, life: ModelLife, wrap: Event, frozen: Event) -> Fix | None:
    """Remove the freezing, where the wrap in the same block has frozen the base already and the statement does nothing else."""
    if wrap.kind != "wrapped" or wrap.by != "get_peft_model" or any(True for _ in life.all("unfrozen", before=frozen.order, after=wrap.order)):
        return None
    origin = frozen.data.get("origin")
    outer = origin if origin is not None else frozen.site
    stmt, inner = outer.stmt, frozen.site.stmt
    if outer.block != wrap.site.block or outer.function != wrap.site.function or not (ctx.here(outer) and ctx.here(wrap.site)):
        return None
    if isinstance(stmt, cst.For):
        alone = isinstance(stmt.body, cst.IndentedBlock) and len(stmt.body.body) == 1 and stmt.body.body[0] is inner and stmt.orelse is None
    else:
        small = stmt.body[0] if isinstance(stmt, cst.SimpleStatementLine) and len(stmt.body) == 1 else None
        alone = isinstance(small, cst.Expr) and small.value is frozen.site.node
    if stmt is None or not alone or (isinstance(inner, cst.SimpleStatementLine) and len(inner.body) != 1):
        return None
    return ctx.fix("Leave the freezing of the base to get_peft_model", ctx.editor.delete_statement(stmt))
