"""LL302: a 4- or 8-bit model is moved or cast."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Event
from lora_lint.rule import Context
from lora_lint.versions import ALWAYS, Expr, F, error_text


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each quantized model whether it is moved through a receiver that refuses it (the guards sit on PreTrainedModel, not on PeftModel)."""
    for life in q.models(ctx.recipe):
        if not q.is_library(life):
            continue
        for moved in life.all("moved"):
            if moved.method not in ("to", "cuda", "half", "float", "bfloat16", "double", "cpu") or moved.part or moved.peft:
                continue
            for quantized in q.quantized(life):
                rule = _refused(moved, quantized.bits)
                if rule is None:
                    continue
                versions, failure = rule
                happens = q.possible(quantized.when, moved.when, ctx.recipe.cuda)
                if happens is None:
                    continue
                gone = q.conditions(life.all("merged", "escaped", before=moved.order))
                yield ctx.finding(
                    moved.site,
                    f"A {quantized.bits}-bit model refuses .{moved.method}(): bitsandbytes has placed and cast it already",
                    case=escape(happens, gone),
                    versions=versions,
                    failure=failure,
                    flow=[(quantized.site, f"loaded in {quantized.bits} bits"), (moved.site, f".{moved.method}() is called on it")],
                    advice="drop the call; choose the device with device_map when loading",
                    fix=remove_move(ctx, moved),
                )


def _refused(moved: Event, bits: int) -> tuple[Expr, str] | None:
    if bits not in (4, 8):
        return None
    if moved.method in ("half", "float"):
        return ALWAYS, error_text("kbit-cast-refused").format(method=moved.method)
    if moved.method in ("bfloat16", "double"):
        return None
    if moved.cast:
        return ALWAYS, error_text("kbit-dtype-refused")
    if moved.method == "cpu":
        return None
    if bits == 8:
        if moved.method == "cuda":
            return ALWAYS, error_text("kbit-8bit-cuda-refused")
        fact = F("kbit-8bit-to-refused")
        return fact | F("kbit-8bit-immovable"), fact.fact.message
    fact = F("kbit-4bit-move-refused")
    return fact | F("kbit-4bit-immovable"), fact.fact.message


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
