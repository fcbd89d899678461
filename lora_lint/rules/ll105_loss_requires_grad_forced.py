"""LL105: requires_grad is set by hand on a loss that has no graph."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Site
from lora_lint.recipe.values import Tensor
from lora_lint.rule import Context

NEEDS = (("backwards",), ("forced",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each backward pass whether its value only requires grad because somebody said so."""
    for back in ctx.recipe.backwards:
        tensor = back.tensor
        if tensor.forced is None or tensor.opaque or id(tensor.forced) in ctx.recipe.gradients_read:
            continue
        cause = _cause(ctx, tensor)
        if cause is None:
            continue
        where, text = cause
        yield ctx.finding(
            tensor.forced,
            f"The loss has no graph ({text}); setting requires_grad on it makes the backward pass succeed and train nothing, without any error",
            case=escape(back.when, []),
            flow=[
                *([(where, text)] if where is not None else []),
                (tensor.forced, "requires_grad is set by hand"),
                (back.site, f"backpropagated by {back.how}"),
            ],
            advice="remove it, and mend what cut the loss off",
            fix=_fix(ctx, tensor.forced),
        )


def _cause(ctx: Context, tensor: Tensor) -> tuple[Site | None, str] | None:
    if not tensor.attached:
        if not tensor.cuts:
            return None
        cut = tensor.cuts[-1]
        return cut.site, f"{cut.kind} cuts it off"
    lives = [x for x in tensor.attached if x.kind != "input" and x.number >= 0]
    reasons = [next(q.frozen(x), None) for x in lives]
    if lives and all(r is not None for r in reasons):
        first = reasons[0]
        assert first is not None
        return first.event.site, "every parameter behind it is frozen"
    return None


def _fix(ctx: Context, site: Site) -> Fix | None:
    """Remove the statement that sets it; the crash then names the cause."""
    if not ctx.here(site) or not isinstance(site.stmt, cst.SimpleStatementLine) or len(site.stmt.body) != 1:
        return None
    small = site.stmt.body[0]
    whole = (isinstance(small, cst.Expr) and small.value is site.node) or (
        isinstance(small, cst.Assign) and any(t.target is site.node for t in small.targets)
    )
    title = "Remove it (the backward pass then fails where the loss was cut off)"
    if whole:
        return ctx.fix(title, ctx.editor.delete_statement(site.stmt), safe=False)
    if isinstance(site.node, cst.Call) and isinstance(site.node.func, cst.Attribute) and site.node.func.attr.value == "requires_grad_":
        return ctx.fix(title, ctx.editor.remove_method_call(site.node), safe=False)
    return None
