"""LL202: prepare_model_for_kbit_training after the wrap freezes every adapter."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import NEVER, Condition, escape
from lora_lint.recipe.events import Event, ModelLife
from lora_lint.rule import Context
from lora_lint.versions import error_text

NEEDS = (("library",), ("trained",), ("prepared",), ("wrapped", "adapter_loaded"))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each preparation whether adapters were there before it."""
    for life in q.models(ctx.recipe):
        for prepared in life.all("prepared"):
            for run in (r for r in q.trained(life) if r.order > prepared.order):
                for wrap in q.attached(life, prepared.order):
                    happens = q.possible(run.when, prepared.when, wrap.when)
                    if happens is None:
                        continue
                    case = escape(happens, _cures(life, prepared, run))
                    quantized = [e.when for e in q.quantized(life)]
                    on = prepared.checkpointing != NEVER and bool(quantized)
                    yield ctx.finding(
                        prepared.site,
                        "The preparation freezes every parameter, the adapters that are already attached included: "
                        + ("training runs and changes nothing" if on else "the first backward pass fails"),
                        case=case,
                        failure=None if on else error_text("backward-without-grad"),
                        flow=q.story(
                            (q.loaded(life), "the base is loaded"),
                            (wrap, "adapters are attached"),
                            (prepared, "every parameter is frozen"),
                            (run, "training starts"),
                        ),
                        advice="prepare the base first, then attach the adapters",
                        fix=_fix(ctx, prepared, wrap),
                    )


def _cures(life: ModelLife, prepared: Event, run: Event) -> list[Condition]:
    events = life.all("unfrozen", "set_adapter", "escaped", "wrapped", "surgery", before=run.order, after=prepared.order)
    merged = list(life.all("merged", before=prepared.order))
    return q.conditions([*events, *merged])


def _fix(ctx: Context, prepared: Event, wrap: Event) -> Fix | None:
    """Move the preparation above the wrap, where both are plain statements of one block and nothing between uses the model."""
    a, b = wrap.site, prepared.site
    if a.block != b.block or a.stmt is b.stmt or a.function != b.function or not (ctx.here(a) and ctx.here(b)):
        return None
    if not isinstance(a.stmt, cst.SimpleStatementLine) or not isinstance(b.stmt, cst.SimpleStatementLine):
        return None
    call = a.node
    if not isinstance(call, cst.Call) or wrap.kind != "wrapped" or wrap.by != "get_peft_model" or not isinstance(b.node, cst.Call) or not b.node.args:
        return None
    first = call.args[0].value if call.args and call.args[0].keyword is None else None
    argument = b.node.args[0].value
    if not isinstance(first, (cst.Name, cst.Attribute)) or not isinstance(argument, (cst.Name, cst.Attribute)):
        return None
    small = b.stmt.body[0]
    if len(b.stmt.body) != 1 or not isinstance(small, (cst.Assign, cst.Expr)) or small.value is not b.node or len(a.stmt.body) != 1:
        return None
    rest = "".join(", " + ctx.code(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for arg in b.node.args[1:])
    base = ctx.code(first)
    line = f"{base} = {ctx.code(b.node.func)}({base}{rest})"
    if isinstance(small, cst.Assign) and ctx.code(small.targets[0].target) != ctx.code(argument):
        return None
    return ctx.fix("Prepare before the adapters are attached", ctx.insert(a, line, after=False), ctx.editor.delete_statement(b.stmt))
