"""Fixes that several rules offer."""

from __future__ import annotations

import libcst as cst

from lora_lint.findings import Fix
from lora_lint.recipe.events import Event, Site
from lora_lint.recipe.values import Obj, options
from lora_lint.rule import Context


def remove_move(ctx: Context, moved: Event) -> Fix | None:
    """Remove the moving call: the whole statement where it is nothing else."""
    node, stmt = moved.site.node, moved.site.stmt
    if not ctx.here(moved.site) or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    receiver = node.func.value
    if moved.cast and (moved.device is not None or ctx.info.code == "LL301"):
        return None  # the cast must stay
    if isinstance(stmt, cst.SimpleStatementLine) and len(stmt.body) == 1:
        small = stmt.body[0]
        same = isinstance(small, cst.Assign) and small.value is node and len(small.targets) == 1 and small.targets[0].target.deep_equals(receiver)
        if (isinstance(small, cst.Expr) and small.value is node and isinstance(receiver, (cst.Name, cst.Attribute))) or same:
            return ctx.fix(f"Remove .{moved.method}()", ctx.editor.delete_statement(stmt))
    return ctx.fix(f"Remove .{moved.method}()", ctx.editor.remove_method_call(node))


def unwrap(ctx: Context, site: Site) -> Fix | None:
    """Unwrap the with statement or drop the decorator, where it covers nothing else."""
    if not ctx.here(site):
        return None
    if isinstance(site.node, cst.Decorator) and isinstance(site.stmt, cst.FunctionDef):
        users = {
            id(c.site.node)
            for x in ctx.recipe.models
            for c in x.all("forward", "generate")
            if c.data.get("grad_site") is not None and c.grad_site.node is site.node
        }
        lives = {
            x.number for x in ctx.recipe.models for c in x.all("forward") if c.data.get("grad_site") is not None and c.grad_site.node is site.node
        }
        if len(users) > 1 or len(lives) > 1:
            return None
        return ctx.fix("Drop the decorator", ctx.editor.remove_decorator(site.stmt, site.node))
    if isinstance(site.node, cst.WithItem) and isinstance(site.stmt, cst.With):
        lives = {
            x.number for x in ctx.recipe.models for c in x.all("forward") if c.data.get("grad_site") is not None and c.grad_site.node is site.node
        }
        if len(lives) > 1:
            return None
        index = next((i for i, item in enumerate(site.stmt.items) if item is site.node), None)
        if index is not None:
            return ctx.fix("Run the forward pass with gradients", ctx.editor.unwrap_with(site.stmt, index))
    return None


def trainer_call(event: Event, arg: cst.Arg) -> cst.Call | None:
    """The call of the trainer's arguments that an argument stands in."""
    arguments = event.data.get("arguments")
    for value in (v for _, v in options(arguments)) if arguments is not None else ():
        if isinstance(value, Obj) and value.site is not None and isinstance(value.site.node, cst.Call) and arg in value.site.node.args:
            return value.site.node
    return None
