"""LL304: inputs go to a hard-coded device while device_map decides where the model is."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition, escape
from lora_lint.recipe.events import Event, ModelLife
from lora_lint.recipe.values import Const, Dict, Obj, Sym, Tensor, Value, options, walk
from lora_lint.rule import Context
from lora_lint.versions import error_text

NEEDS = (("library",), ("placed",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each forward and generate call of a dispatched model whether its inputs go to a device written as a literal."""
    for life in q.models(ctx.recipe):
        start = q.loaded(life)
        if start is None or any(e.device is not None and not e.part for e in life.all("moved")):
            continue
        for use in life.all("forward", "generate"):
            fixed = next((t for _, t in use.inputs if t.device.kind == "cuda" and t.device.site is not None), None)
            if fixed is None:
                continue
            for condition, value in options(start.device_map):
                yield _report(ctx, life, start, use, fixed, condition, value)


def _report(ctx: Context, life: ModelLife, start: Event, use: Event, tensor: Tensor, condition: Condition, value: Value) -> Finding | None:
    site = tensor.device.site
    assert site is not None
    happens = q.possible(start.when, use.when, condition, ctx.recipe.cuda)
    if happens is None:
        return None
    elsewhere = _other_index(value, tensor.device.text)
    if elsewhere and (not ctx.recipe.sets_device or tensor.device.text != "cuda"):
        message = f"The inputs go to {tensor.device.text!r}, but device_map puts the model on {elsewhere}"
        severity, failure = Severity.WARNING, error_text("mixed-devices").replace("cuda:0 and cpu", "cuda:1 and cuda:0")
    elif isinstance(value, Const) and value.value in q.AUTO_MAPS:
        message = f"The inputs go to {tensor.device.text!r} while device_map decides where the model is: right on one machine, not on every one"
        severity, failure = Severity.NOTE, None
    else:
        return None
    return ctx.finding(
        site,
        message,
        case=escape(happens, []),
        severity=severity,
        failure=failure,
        flow=[(start.device_map_site, "device_map places the model"), (site, "a literal device for the inputs")],
        advice="use the model's own device",
        fix=_fix(ctx, use, tensor),
    )


def _other_index(value: Value, literal: str) -> str:
    """The device of a single-device map that is not surely the literal's, in words; empty where it agrees or is not known."""
    place: Value = value
    if isinstance(value, Dict) and len(value.slots) == 1:
        place = next(iter(value.slots.values()))
    index = literal.partition(":")[2] or ("0" if literal == "cuda" else literal)
    if isinstance(place, Const):
        if isinstance(place.value, int) and not isinstance(place.value, bool):
            return f"cuda:{place.value}" if str(place.value) != index else ""
        if isinstance(place.value, str) and place.value.startswith("cuda:"):
            return place.value if place.value.partition(":")[2] != index else ""
        return ""
    held = [
        *walk(place),
        *(
            v
            for d in walk(place)
            if isinstance(d, Obj) and d.kind == "device" and d.info["device"].value is not None
            for v in walk(d.info["device"].value)
        ),
    ]
    rank = next((v for v in held if isinstance(v, Sym) and "rank" in v.text.lower()), None)
    return f"the GPU of this process ({rank.text.rstrip('…')})" if rank is not None and literal in ("cuda", "cuda:0", "0") else ""


def _fix(ctx: Context, use: Event, tensor: Tensor) -> Fix | None:
    site = tensor.device.site
    call = use.site.node
    if site is None or not ctx.here(site) or not ctx.here(use.site) or site.function != use.site.function:
        return None
    if not isinstance(call, cst.Call) or not isinstance(site.node, cst.Call):
        return None
    owner = call.func.value if isinstance(call.func, cst.Attribute) and call.func.attr.value in ("generate", "forward") else call.func
    if not isinstance(owner, (cst.Name, cst.Attribute)) or not isinstance(site.node.func, cst.Attribute):
        return None
    device = f"{ctx.code(owner)}.device"
    if site.node.func.attr.value == "to" and len(site.node.args) == 1:
        return ctx.fix("Use the model's device", ctx.editor.replace(site.node.args[0].value, device))
    if site.node.func.attr.value == "cuda" and not site.node.args:
        return ctx.fix("Use the model's device", ctx.editor.replace(site.node, f"{ctx.code(site.node.func.value)}.to({device})"))
    return None
