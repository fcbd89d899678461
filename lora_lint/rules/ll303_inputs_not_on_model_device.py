"""LL303: CPU tensors reach the forward or generate of a model on a GPU."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition, escape
from lora_lint.recipe.events import Event, ModelLife
from lora_lint.recipe.values import ABSENT, Const, Dict, Sym, Tensor, Value, options
from lora_lint.rule import Context
from lora_lint.rules.ll301_dispatched_model_moved import AUTO
from lora_lint.versions import ALWAYS, Expr, F

FAILURE = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
MATTERS = ("*", "**", "input_ids", "inputs", "inputs_embeds", "pixel_values", "input_features", "input_values", "decoder_input_ids", "position_ids")

ALONE = ("position_ids", "inputs_embeds", "decoder_input_ids")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each forward and generate call where the model and its inputs are."""
    for life in q.models(ctx.recipe):
        if life.kind not in ("pretrained", "config"):
            continue
        for use in life.all("forward", "generate"):
            if use.data.get("part") and use.kind == "forward" and use.part not in ("base_model", "model", "module"):
                continue
            matter = [(name, t) for name, t in use.inputs if name in MATTERS and t.device.kind != "unknown"]
            moved = any(t.device.kind != "cpu" for _, t in matter)
            stays = [t for name, t in matter if t.device.kind == "cpu" and (not moved or name in ALONE)]
            if not stays:
                continue
            for placed, when, sure in _placements(life, use):
                yield _report(ctx, life, use, stays[0], placed, when, sure)


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
    if isinstance(value, Const):
        text = value.value
        return text in AUTO or (isinstance(text, str) and text.startswith("cuda")) or (isinstance(text, int) and not isinstance(text, bool))
    if isinstance(value, Sym):
        return bool(value.subject.default) and value.subject.default[0] in AUTO  # a map that the command line may change is judged by its default
    if isinstance(value, Dict) and value.slots:
        return len(value.slots) == 1 and "**" not in value.slots and not any(isinstance(v, Const) and v.value in ("cpu", "disk") for v in value.slots.values())
    return False


def _report(ctx: Context, life: ModelLife, use: Event, tensor: Tensor, placed: Event, when: Condition, sure: bool) -> Finding | None:
    happens = q.possible(use.when, when)
    if happens is None:
        return None
    moved_by_others = q.conditions(
        e for e in life.all("parallel", "dispatched", "escaped", before=use.order) if e.kind != "parallel" or e.by == "DataParallel"
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
        failure=FAILURE,
        severity=Severity.ERROR if sure else Severity.WARNING,
        flow=[
            (placed.site, "the model is put on the GPU"),
            *([(tensor.site, "these tensors are made on the CPU")] if tensor.site is not None else []),
            (use.site, "and get here unmoved"),
        ],
        help="move the inputs to the model's device",
        fix=_fix(ctx, use, tensor),
    )


def _fix(ctx: Context, use: Event, tensor: Tensor) -> Fix | None:
    """Append ``.to(model.device)`` to the tokenizer call that made the inputs, or move the batch before the call."""
    call = use.site.node
    if not isinstance(call, cst.Call) or not ctx.here(use.site):
        return None
    owner = call.func.value if isinstance(call.func, cst.Attribute) and call.func.attr.value in ("generate", "forward") else call.func
    if not isinstance(owner, (cst.Name, cst.Attribute)):
        return None
    device = f"{ctx.code(owner)}.device"
    made = tensor.site
    if (
        made is not None
        and ctx.here(made)
        and isinstance(made.node, cst.Call)
        and made.function == use.site.function
        and made.block == use.site.block
        and any(a.keyword is not None and a.keyword.value == "return_tensors" for a in made.node.args)
    ):
        start, end = ctx.source.byte_range(made.node)
        return ctx.fix("Move the inputs to the model's device", ctx.editor.replace_range(end, end, f".to({device})"))
    unpacked = [a.value for a in call.args if a.star == "**"]
    if len(unpacked) == 1 and isinstance(unpacked[0], cst.Name) and use.site.stmt is not None and isinstance(use.site.stmt, cst.SimpleStatementLine):
        name = unpacked[0].value
        return ctx.fix(
            "Move the batch to the model's device", ctx.insert(use.site, f"{name} = {{k: v.to({device}) for k, v in {name}.items()}}", after=False)
        )
    return None


_ = ABSENT
