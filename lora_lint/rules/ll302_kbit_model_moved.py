"""LL302: a 4- or 8-bit model is moved or cast."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.findings import Finding
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Event
from lora_lint.rule import Context
from lora_lint.rules._fixes import remove_move
from lora_lint.versions import ALWAYS, Expr, F, error_text

NEEDS = (("library",), ("quantized",), ("moved", "cast"))


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
                article = "An" if quantized.bits == 8 else "A"
                yield ctx.finding(
                    moved.site,
                    f"{article} {quantized.bits}-bit model refuses .{moved.method}(): bitsandbytes has placed and cast it already",
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
            return F("kbit-8bit-cuda-refused"), error_text("kbit-8bit-cuda-refused")
        fact = F("kbit-8bit-to-refused")
        return fact | F("kbit-8bit-immovable"), fact.fact.message
    fact = F("kbit-4bit-move-refused")
    return fact | F("kbit-4bit-immovable"), fact.fact.message
