"""LL102: the value that is backpropagated is cut off from every model."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Backward
from lora_lint.recipe.queries import GRAD_MODES, culprit
from lora_lint.recipe.values import Cut
from lora_lint.rule import Context
from lora_lint.versions import error_text

NAMES = {"data": ".data", "comparison": "a comparison", "integer cast": "the cast to integers", "numpy": "numpy", "generate": ".generate()"}

NEEDS = (("backwards",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each backward pass whether its value still hangs on a model."""
    for back in ctx.recipe.backwards:
        tensor = back.tensor
        if not q.lost(back) or (tensor.forced is not None and id(tensor.forced) in ctx.recipe.gradients_read):
            continue
        cut = culprit(back)
        if cut is None or cut.kind in GRAD_MODES:
            continue  # LL103 speaks of grad modes
        if tensor.forced is not None and tensor.forced.stmt is cut.site.stmt:
            continue  # LL105 says it all
        what = NAMES.get(cut.kind, cut.kind if cut.kind.endswith("()") else f".{cut.kind}()")
        number = tensor.number and back.how in (".backward()", "accelerator.backward()")
        used = ctx.recipe.consumers.get(id(cut))
        at = used if used is not None and not cut.removable and ctx.here(used) and used.function == cut.site.function else cut.site
        yield ctx.finding(
            at,
            f"Nothing can be learned from this loss: {what} cuts it off from the model before {back.how}",
            case=escape(back.when, []),
            failure=None if tensor.forced is not None else error_text("backward-on-a-number") if number else error_text("backward-without-grad"),
            flow=[*((x.site, "the model whose output it is") for x in sorted(cut.lost, key=lambda x: x.number) if x.kind != "layer"),
                  (cut.site, "the gradient ends here"), (back.site, f"backpropagated by {back.how}")],
            advice="keep the tensor itself; take .item() or .detach() of a copy for logging",
            fix=_fix(ctx, cut, back),
        )  # fmt: skip


def _fix(ctx: Context, cut: Cut, back: Backward) -> Fix | None:
    """Drop the call where a tensor expression is left and nothing else needs the number."""
    if not cut.removable or not ctx.here(cut.site) or len([c for c in back.tensor.cuts if c.kind not in GRAD_MODES]) != 1:
        return None
    node, stmt = cut.site.node, cut.site.stmt
    used = ctx.recipe.consumers.get(id(cut))
    if (
        used is not None
        and isinstance(used.node, cst.Call)
        and re.search(r"(tensor|Tensor|Variable|from_numpy|stack)$", ctx.code(used.node.func) if ctx.here(used) else "")
    ):
        return None  # the number goes on into a new tensor: removing the cut alone cures nothing
    text = ctx.code(stmt) if stmt is not None else ""
    if re.search(r"self\.[\w.]+\s*[+*-]?=|\.(append|extend|add)\(", text):
        return None  # kept beyond the step, where the graph must not be kept
    safe = cut.site.function in (back.site.function, id(back.site.node))
    if (
        isinstance(stmt, cst.SimpleStatementLine)
        and len(stmt.body) == 1
        and isinstance(stmt.body[0], cst.Assign)
        and stmt.body[0].value is node
        and len(stmt.body[0].targets) == 1
    ):
        inner = (
            node.func.value
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
            else node.value
            if isinstance(node, cst.Attribute)
            else None
        )
        if (
            isinstance(inner, cst.Name)
            and isinstance(stmt.body[0].targets[0].target, cst.Name)
            and inner.value == stmt.body[0].targets[0].target.value
        ):
            return ctx.fix(f"Remove the line that cuts `{inner.value}`", ctx.editor.delete_statement(stmt), safe=safe)
    if isinstance(node, cst.Call):
        return ctx.fix("Remove the call that cuts the graph", ctx.editor.remove_method_call(node), safe=safe)
    if isinstance(node, cst.Attribute):
        return ctx.fix("Remove .data", ctx.editor.replace(node, ctx.code(node.value)), safe=safe)
    return None
