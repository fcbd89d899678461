"""LL104: a module drops the gradient through its frozen branch, so that adapters below it learn from a wrong one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe.conditions import Case
from lora_lint.recipe.events import Branch
from lora_lint.rule import Context
from lora_lint.rules._fixes import unwrap

NEEDS = (("branches",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Report each frozen branch that was cut and joined with a trainable one on the same input."""
    for branch in ctx.recipe.branches:
        word = {"no_grad": "under no_grad", "inference_mode": "under inference_mode"}.get(branch.kind, f"on a detached input (.{branch.kind})")
        yield ctx.finding(
            branch.site,
            f"`{branch.cls}.forward` computes its frozen branch {word}: the input's gradient misses that branch, "
            "and trainable parts below it learn from a wrong gradient, without any error",
            case=Case(True, ""),  # how the module was built is no matter: its forward is wrong by itself
            severity=Severity.WARNING,
            flow=[
                (branch.site, "the gradient of the frozen branch ends here"),
                *([(branch.joined, "joined with the trainable branch")] if branch.joined else []),
            ],
            advice="freeze the weights with requires_grad_(False) and let the gradient pass through",
            fix=_fix(ctx, branch),
        )


def _fix(ctx: Context, branch: Branch) -> Fix | None:
    node = branch.site.node
    if not ctx.here(branch.site):
        return None
    if isinstance(node, cst.Call) and branch.kind == "detach":
        return ctx.fix("Let the gradient pass", ctx.editor.remove_method_call(node))
    if isinstance(node, cst.Attribute) and branch.kind == "data":
        return ctx.fix("Let the gradient pass", ctx.editor.replace(node, ctx.code(node.value)))
    return unwrap(ctx, branch.site)
