"""LL406: model.state_dict is replaced by one that filters, and the saved adapter is empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import libcst as cst

from lora_lint.findings import Finding
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.values import Func, Method, Value, options
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",), ("state_dict_replaced",), ("wrapped", "adapter_loaded"))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each replaced state_dict whether it returns what get_peft_model_state_dict already filtered."""
    empty = F("filtered-state-dict-saved-empty")
    for life in q.models(ctx.recipe):
        for replaced in life.all("state_dict_replaced"):
            if not any(True for _ in life.all("wrapped", "adapter_loaded", before=replaced.order)) or not any(
                _filters(ctx, v) for _, v in options(replaced.value)
            ):
                continue
            saves = [e for e in life.all("saved", "trained", after=replaced.order) if (e.how == "trainer" if e.kind == "trained" else not e.explicit)]
            for save in saves[:1]:
                happens = q.possible(replaced.when, save.when)
                if happens is None:
                    continue
                yield ctx.finding(
                    replaced.site,
                    "model.state_dict already returns the filtered adapter weights; saving filters them again, and the saved adapter holds no tensor",
                    case=escape(happens, q.conditions(life.all("state_dict_replaced", before=save.order, after=replaced.order))),
                    versions=empty,
                    flow=[(replaced.site, "state_dict is replaced"), (saves[-1].site, "the adapter is saved")],
                    advice="remove the assignment: PEFT saves only the adapter anyway",
                    fix=ctx.fix("Remove the assignment", ctx.editor.delete_statement(replaced.site.stmt))
                    if ctx.here(replaced.site) and _alone(replaced.site.stmt)
                    else None,
                )


def _alone(stmt: cst.CSTNode | None) -> TypeGuard[cst.SimpleStatementLine]:
    """Whether a statement is one assignment to one target."""
    return (
        isinstance(stmt, cst.SimpleStatementLine) and len(stmt.body) == 1 and isinstance(stmt.body[0], cst.Assign) and len(stmt.body[0].targets) == 1
    )


def _filters(ctx: Context, value: Value) -> bool:
    func = value.func if isinstance(value, Method) else value
    return isinstance(func, Func) and "get_peft_model_state_dict" in func.module.source.module.code_for_node(func.node)
