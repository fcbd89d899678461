"""Draw a recipe as text or plain data."""

from __future__ import annotations

from typing import Any

from lora_lint.recipe.conditions import describe
from lora_lint.recipe.events import Event, ModelLife, Site
from lora_lint.recipe.machine import Recipe
from lora_lint.recipe.values import ABSENT, Const, Device, Obj, Value

PHRASES = {
    "loaded": "loaded",
    "prepared": "prepared for k-bit training",
    "input_grads": "inputs made to require grad",
    "checkpointing": "gradient checkpointing on",
    "checkpointing_off": "gradient checkpointing off",
    "wrapped": "adapters attached",
    "adapter_loaded": "adapter loaded",
    "set_adapter": "adapter activated",
    "frozen": "frozen",
    "unfrozen": "unfrozen",
    "forward": "forward",
    "generate": "generate",
    "trained": "trained",
    "optimized": "given to an optimizer",
    "merged": "adapters merged into the base",
    "disabled": "adapters disabled",
    "enabled": "adapters enabled",
    "embeddings_resized": "embeddings resized",
    "state_dict_replaced": "state_dict replaced",
    "saved": "saved",
    "given_to_trainer": "given to a trainer",
    "surgery": "submodule replaced",
    "accelerated": "prepared by accelerate",
    "weights_set": "weights set",
    "parallel": "made parallel",
    "unscaled": "gradients unscaled",
}


def where(site: Site) -> tuple[str, int]:
    """File and line of a site."""
    return site.source.path, site.source.span(site.node).start.line


def phrase(event: Event) -> str:
    """An event in words."""
    if event.kind == "quantized":
        return f"quantized to {event.bits} bits" if event.bits else "perhaps quantized" if event.when else "quantized"
    if event.kind == "moved":
        device: Device | None = event.device
        return f"moved by .{event.method}() to {device.text or device.kind}" if device is not None else f"cast by .{event.method}()"
    if event.kind == "mode":
        return "set to training mode" if event.train else "set to evaluation mode"
    if event.kind == "escaped":
        return f"passed to {event.to or 'code out of sight'}"
    text = PHRASES.get(event.kind, event.kind)
    if event.kind in ("checkpointing", "wrapped"):
        text += f" by {event.by}"
    if event.kind == "trained":
        text += f" by {event.how}"
    if event.kind == "loaded" and event.device_map is not ABSENT:
        text += f", device_map={show(event.device_map)}"
    if event.kind in ("frozen", "unfrozen") and event.data.get("partial"):
        text = f"partly {text}"
    return text


def show(value: Value) -> str:
    """A value in a few characters."""
    if isinstance(value, Const):
        return repr(value.value)
    return value.name or value.kind if isinstance(value, Obj) else "…"


def shown(recipe: Recipe) -> list[ModelLife]:
    """The lives that a reader cares about: models, not single layers."""
    return [x for x in recipe.models if x.kind not in ("layer", "input") and (x.events or x.kind != "outside")]


def text(recipe: Recipe) -> str:
    """The recipe for a terminal."""
    lines: list[str] = []
    for life in shown(recipe):
        _, line = where(life.site)
        names = ", ".join(dict.fromkeys(life.names)) or "a model"
        lines.append(f"model {life.number} ({life.cls or life.kind}) {names}, from line {line}")
        for event in life.events:
            path, at = where(event.site)
            condition = f"   if {describe(event.when)}" if event.when else ""
            prefix = "" if path == recipe.source.path else f"{path}:"
            lines.append(f"  {prefix}{at:>5}  {phrase(event)}{condition}")
    for optimizer in recipe.optimizers:
        held = ", ".join(f"model {x.number}" for x in optimizer.lives if x.kind != "layer") or "layers"
        lines.append(f"optimizer {optimizer.cls} at line {where(optimizer.site)[1]} over {held}")
    for backward in recipe.backwards:
        state = "cut off from every model" if backward.tensor.cut_off else "attached" if backward.tensor.attached else "of unknown origin"
        lines.append(f"backward at line {where(backward.site)[1]} through {backward.how}: {state}")
    if recipe.gave_up:
        lines.append(f"incomplete: {recipe.gave_up} after {recipe.steps} of at most {recipe.budget} steps")
    return "\n".join(lines) if lines else "no model in sight"


def data(recipe: Recipe) -> dict[str, Any]:
    """The recipe as plain data."""
    return {
        "path": recipe.source.path,
        "models": [
            {
                "number": x.number,
                "kind": x.kind,
                "class": x.cls,
                "names": list(dict.fromkeys(x.names)),
                "line": where(x.site)[1],
                "events": [
                    {"kind": e.kind, "line": where(e.site)[1], "file": where(e.site)[0], "text": phrase(e), "if": describe(e.when)} for e in x.events
                ],
            }
            for x in shown(recipe)
        ],
        "optimizers": [
            {"class": o.cls, "line": where(o.site)[1], "models": [x.number for x in o.lives if x.kind != "layer"]} for o in recipe.optimizers
        ],
        "backwards": [
            {"line": where(b.site)[1], "how": b.how, "cut_off": b.tensor.cut_off, "models": sorted(x.number for x in b.tensor.attached)}
            for b in recipe.backwards
        ],
        "steps": recipe.steps,
        "budget": recipe.budget,
        "incomplete": recipe.gave_up,
    }
