"""LL501: the optimizer was built before the adapters were attached, so it does not hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition, escape
from lora_lint.recipe.events import Event, ModelLife, OptimizerLife
from lora_lint.recipe.values import NONE, Obj, walk
from lora_lint.rule import Context

NEEDS = (("library",), ("trained",), ("optimized",), ("wrapped",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each optimizer whether adapters were attached to its model after it had collected the parameters."""
    for life in q.models(ctx.recipe):
        for given in life.all("optimized"):
            optimizer: OptimizerLife = given.optimizer
            for wrap in life.all("wrapped", after=optimizer.order):
                for run in (r for r in q.trained(life) if r.order > wrap.order):
                    if not _used(run, optimizer):
                        continue
                    happens = q.possible(given.when, wrap.when, run.when)
                    if happens is None:
                        continue
                    yield ctx.finding(
                        optimizer.site,
                        "The optimizer is built before the adapters are attached: it holds none of them, and training changes nothing, silently",
                        case=escape(happens, _again(life, given, wrap)),
                        flow=[
                            (optimizer.site, "the optimizer collects the base's parameters"),
                            (wrap.site, "the adapters are attached"),
                            (run.site, "training starts"),
                        ],
                        advice="build the optimizer after the adapters are attached",
                        fix=_fix(ctx, optimizer, wrap),
                    )


def _used(run: Event, optimizer: OptimizerLife) -> bool:
    """Whether the training run steps with this optimizer: any loop does, a trainer only if it was given."""
    trainer = run.data.get("trainer")
    if not isinstance(trainer, Obj):
        return True
    return any(isinstance(v, Obj) and v.info.get("life") is optimizer for v in walk(trainer.slots.get("optimizers", NONE)))


def _again(life: ModelLife, given: Event, wrap: Event) -> list[Condition]:
    """When the adapters get into an optimizer after all."""
    found = [e for e in life.all("optimized") if e is not given and e.optimizer.order > wrap.order]
    found += list(life.all("param_group_added", after=wrap.order))
    return q.conditions(found)


def _fix(ctx: Context, optimizer: OptimizerLife, wrap: Event) -> Fix | None:
    """Move the optimizer's statement below the wrap, where both stand in one block and nothing between uses it."""
    a, b = optimizer.site, wrap.site
    if a.block != b.block or a.function != b.function or not (ctx.here(a) and ctx.here(b)):
        return None
    if not isinstance(a.stmt, cst.SimpleStatementLine) or not isinstance(b.stmt, cst.SimpleStatementLine) or a.stmt is b.stmt:
        return None
    if len(a.stmt.body) != 1 or not isinstance(a.stmt.body[0], cst.Assign):
        return None
    target = a.stmt.body[0].targets[0].target
    wrapped = b.stmt.body[0]
    if (
        not isinstance(target, (cst.Name, cst.Attribute))
        or not isinstance(wrapped, cst.Assign)
        or not isinstance(b.node, cst.Call)
        or wrapped.value is not b.node
    ):
        return None
    first = b.node.args[0].value if b.node.args and b.node.args[0].keyword is None else None
    if first is None or not wrapped.targets[0].target.deep_equals(first):
        return None
    start, end = ctx.source.byte_range(a.stmt)[1], ctx.source.byte_range(b.stmt)[0]
    between = ctx.source.data[start:end].decode()
    name = ctx.code(target)
    moved = ctx.code(a.stmt.body[0])
    rebound = any(
        re.search(rf"(?<![\w.]){word}\s*(=(?!=)|[-+*/]=|,)", between) for word in set(re.findall(r"[A-Za-z_]\w*", moved)) - {ctx.code(first)}
    )
    if name in between or ctx.code(first) + "." in between or rebound:
        return None
    return ctx.fix("Build the optimizer after the adapters", ctx.insert(b, ctx.code(a.stmt.body[0])), ctx.editor.delete_statement(a.stmt))
