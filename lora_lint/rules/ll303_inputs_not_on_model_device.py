"""LL303: CPU tensors reach the forward or generate of a model on a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition, escape
from lora_lint.recipe.events import Event, ModelLife, Site
from lora_lint.recipe.values import Const, Dict, Obj, Sym, Tensor, Value, options
from lora_lint.rule import Context
from lora_lint.versions import ALWAYS, Expr, F, error_text

MATTERS = ("*", "**", "input_ids", "inputs", "inputs_embeds", "pixel_values", "input_features", "input_values", "decoder_input_ids", "position_ids")

ALONE = ("position_ids", "inputs_embeds", "decoder_input_ids")

NEEDS = (("library",), ("loaded",), ("moved", "placed"))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each forward and generate call where the model and its inputs are."""
    for life in q.models(ctx.recipe):
        if life.kind not in ("pretrained", "config"):
            continue
        for use in life.all("forward", "generate"):
            if use.data.get("part") and use.kind == "forward" and use.part not in ("base_model", "model", "module"):
                continue
            matter = [(name, t) for name, t in use.inputs if name in MATTERS and t.device.kind != "unknown"]
            if any(name == "**" and t.device.kind == "unknown" for name, t in use.inputs):
                continue
            moved = any(t.device.kind != "cpu" for _, t in matter)
            stays = [(name, t) for name, t in matter if t.device.kind == "cpu" and (not moved or name in ALONE)]
            if not stays:
                continue
            for placed, when, sure in _placements(life, use):
                yield _report(ctx, life, use, stays, placed, when, sure)


def _placements(life: ModelLife, use: Event) -> Iterator[tuple[Event, Condition, bool]]:
    """How the model came to a GPU before the call: moved there, or put there by device_map (which may also have spread it)."""
    start = q.loaded(life)
    moves = [e for e in life.all("moved", before=use.order) if e.device is not None and not e.part]
    for i, move in enumerate(moves):
        if move.method == "prepare" and i == len(moves) - 1:
            yield move, move.when, False
        elif move.device.kind in ("cuda", "cuda?") and not any(q.possible(m.when, move.when) is not None for m in moves[i + 1 :]):
            yield move, move.when, True
    if start is not None and not any(m.device.kind in ("cpu", "unknown", "follows") for m in moves):
        for condition, value in options(start.device_map):
            if _on_gpu(value):
                yield start, q.conjunction(start.when, condition), False


def _on_gpu(value: Value) -> bool:
    if isinstance(value, Obj) and value.kind == "text":
        return str(value.info.get("prefix", "")).startswith("cuda")
    if isinstance(value, Const):
        text = value.value
        return text in q.AUTO_MAPS or (isinstance(text, str) and text.startswith("cuda")) or (isinstance(text, int) and not isinstance(text, bool))
    if isinstance(value, Sym):
        return (
            bool(value.subject.default) and value.subject.default[0] in q.AUTO_MAPS
        )  # a map that the command line may change is judged by its default
    if isinstance(value, Dict) and value.slots:
        return (
            len(value.slots) == 1
            and "**" not in value.slots
            and not any(isinstance(v, Const) and v.value in ("cpu", "disk") for v in value.slots.values())
        )
    return False


def _report(ctx: Context, life: ModelLife, use: Event, stays: list[tuple[str, Tensor]], placed: Event, when: Condition, sure: bool) -> Finding | None:
    tensor = stays[0][1]
    happens = q.possible(use.when, when, ctx.recipe.cuda)
    if happens is None:
        return None
    moved_by_others = q.conditions(
        e
        for e in life.all("parallel", "dispatched", "escaped", "input_grads", before=use.order)
        if (e.kind != "parallel" or e.moves_inputs) and (e.kind != "input_grads" or e.data.get("by_hook") == "register_forward_pre_hook")
    )
    versions: Expr = F("generate-leaves-inputs") if use.kind == "generate" else ALWAYS
    if placed.kind == "loaded" and any(True for _ in life.all("quantized")):
        versions = versions & F("kbit-dispatch-without-hooks")
    call = "generate()" if use.kind == "generate" else "the forward"
    where = {
        "moved": "is on the GPU" if sure else "accelerate puts on its device; it moves the batches of prepared loaders only",
        "loaded": "is on the GPU (device_map; only a model spread over several devices moves inputs itself)",
    }[placed.kind]
    return ctx.finding(
        use.site,
        f"CPU tensors reach {call} of `{life.name}`, which {where}",
        case=escape(happens, moved_by_others),
        versions=versions,
        failure=error_text("mixed-devices"),
        severity=Severity.ERROR if sure else Severity.WARNING,
        flow=[
            (placed.site, "the model is put on the GPU"),
            *([(tensor.site, "these tensors are made on the CPU")] if tensor.site is not None else []),
            (use.site, "and get here unmoved"),
        ],
        advice="move the inputs to the model's device",
        fix=_fix(ctx, use, placed, tensor, [name for name, _ in stays]),
    )


def _fix(ctx: Context, use: Event, placed: Event, tensor: Tensor, names: list[str]) -> Fix | None:
    """Append ``.to(model.device)`` to the tokenizer call that made the inputs, or move the batch before the call."""
    call = use.site.node
    if not isinstance(call, cst.Call) or not ctx.here(use.site):
        return None
    owner = call.func.value if isinstance(call.func, cst.Attribute) and call.func.attr.value in ("generate", "forward") else call.func
    if not isinstance(owner, (cst.Name, cst.Attribute)):
        return None
    device = f"{ctx.code(owner)}.device"
    made = tensor.site
    if made is not None and _only_for(ctx, use, placed, made):
        _, end = ctx.source.byte_range(made.node)
        return ctx.fix("Move the inputs to the model's device", ctx.editor.replace_range(end, end, f".to({device})"))
    unpacked = [a for a in call.args if a.star == "**"]
    if len(unpacked) == 1 and isinstance(unpacked[0].value, cst.Name):
        name = unpacked[0].value.value
        return ctx.fix(
            "Move the batch to the model's device", ctx.editor.replace(unpacked[0].value, f"{{k: v.to({device}) for k, v in {name}.items()}}")
        )
    named = [
        a for a in call.args if a.keyword is not None and a.keyword.value in names and isinstance(a.value, (cst.Name, cst.Subscript, cst.Attribute))
    ]
    first = [a for a in call.args[:1] if a.keyword is None and not a.star and isinstance(a.value, (cst.Name, cst.Subscript, cst.Attribute))]
    chosen = named or first
    if len(chosen) == 1:
        return ctx.fix("Move the inputs to the model's device", ctx.editor.replace(chosen[0].value, f"{ctx.code(chosen[0].value)}.to({device})"))
    return None


def _only_for(ctx: Context, use: Event, placed: Event, made: Site) -> bool:
    """Whether a tokenizer call makes the inputs for this one call, after the model was put on the GPU, so that they can be moved at once."""
    node, stmt = made.node, made.stmt
    if not ctx.here(made) or not isinstance(node, cst.Call) or made.function != use.site.function or made.block != use.site.block:
        return False
    if not any(a.keyword is not None and a.keyword.value == "return_tensors" for a in node.args):
        return False
    if stmt is use.site.stmt:
        return True
    if not isinstance(stmt, cst.SimpleStatementLine) or len(stmt.body) != 1 or not isinstance(stmt.body[0], cst.Assign):
        return False
    target = stmt.body[0].targets[0].target
    if not isinstance(target, cst.Name) or (ctx.here(placed.site) and placed.site.function == made.function and _after(ctx, placed.site, made)):
        return False
    after = ctx.source.data[ctx.source.byte_range(stmt)[1] :].decode()
    following = after.split("\ndef ")[0]
    return len(re.findall(rf"(?<![\w.]){target.value}\b", following)) == 1


def _after(ctx: Context, site: Site, other: Site) -> bool:
    return ctx.source.byte_range(site.node)[0] > ctx.source.byte_range(other.node)[0]
