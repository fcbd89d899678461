"""LL301: a model that device_map placed is moved as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.findings import Finding, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Among, Case, Condition, Literal, both, escape, unit
from lora_lint.recipe.events import Event, ModelLife
from lora_lint.recipe.values import Const, Dict, Sym, Value, options
from lora_lint.rule import Context
from lora_lint.rules._fixes import remove_move
from lora_lint.versions import error_text

NEEDS = (("library",), ("placed",), ("moved",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each dispatched model whether somebody moves it."""
    for life in q.models(ctx.recipe):
        start = q.loaded(life)
        if start is None or life.kind not in ("pretrained", "diffusers"):
            continue
        for moved in life.all("moved"):
            if moved.method not in ("to", "cuda") or moved.part:
                continue
            casts = moved.device is None
            if not casts and moved.device.kind == "cpu":
                continue
            for condition, kind in _maps(start):
                if casts and kind != "offloaded":
                    continue
                happens = q.possible(start.when, condition, moved.when, ctx.recipe.cuda)
                if happens is None:
                    continue
                quantized = q.conditions(q.quantized(life))
                merged = q.conditions(life.all("merged", before=moved.order)) if kind != "offloaded" else []
                yield _report(
                    ctx, life, start, moved, kind, escape(happens, [*quantized, *merged, *q.conditions(q.escapes(life, before=moved.order))])
                )


def _report(ctx: Context, life: ModelLife, start: Event, moved: Event, kind: str, case: Case | None) -> Finding | None:
    text = {
        "auto": "The model was placed by device_map: moving it is pointless on one GPU, breaks the next forward when it is spread over several, "
        "and raises when a part is offloaded",
        "several": "The model is spread over several devices by device_map: moving it puts all weights on one GPU, and the next forward fails",
        "offloaded": "A part of the model is offloaded by device_map: moving the model raises",
    }[kind]
    return ctx.finding(
        moved.site,
        text,
        case=case,
        failure=error_text("offloaded-model-immovable") if kind == "offloaded" else None,
        severity=Severity.WARNING if kind == "auto" else Severity.ERROR,
        flow=[(start.device_map_site, "device_map places the model"), (moved.site, f".{moved.method}() moves it")],
        advice="drop the move; device_map has placed the model already",
        fix=remove_move(ctx, moved),
    )


def _maps(start: Event) -> Iterator[tuple[Condition, str]]:
    """The ways in which device_map spreads the model: ``auto``, ``several`` devices, or ``offloaded`` parts; a single device is no matter."""
    for condition, value in options(start.device_map):
        kind = _kind(value)
        if kind and isinstance(value, Sym):
            condition = both(condition, unit(Literal(value.subject, Among(frozenset(value.subject.default)))))
        if kind:
            yield condition, kind


def _kind(value: Value) -> str:
    if isinstance(value, Sym) and value.subject.default and value.subject.default[0] in q.AUTO_MAPS:
        return "auto"
    if isinstance(value, Const):
        return "auto" if value.value in q.AUTO_MAPS else ""
    if isinstance(value, Dict):
        places = {v.value for v in value.slots.values() if isinstance(v, Const)}
        if places & {"cpu", "disk"}:
            return "offloaded" if len(places) > 1 or "disk" in places else ""
        return "several" if len(places) > 1 else ""
    return ""
