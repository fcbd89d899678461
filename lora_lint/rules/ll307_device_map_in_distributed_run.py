"""LL307: every process of a distributed run spreads the model over all GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import distributed as d
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import both, escape
from lora_lint.recipe.events import Event, ModelLife
from lora_lint.recipe.values import Const, Value, options
from lora_lint.rule import Context
from lora_lint.versions import error_text

NEEDS = (("library",),)

# The script shows each process one GPU, is its own launcher, or switches the refusal off.
_OWN_WAYS = ("CUDA_VISIBLE_DEVICES", "WORLD_SIZE", "RANK", "LOCAL_RANK", "ACCELERATE_BYPASS_DEVICE_MAP")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each model that trains whether device_map spreads it while several processes load it."""
    if ctx.recipe.environment.intersection(_OWN_WAYS):
        return
    for life in q.models(ctx.recipe):
        start = q.loaded(life)
        if start is None or start.open or "max_memory" in start.keywords or not any(_spreads(v) for _, v in options(start.device_map)):
            continue
        yield _first(ctx, life, start)


def _spreads(value: Value) -> TypeGuard[Const]:
    return isinstance(value, Const) and value.value in q.AUTO_MAPS


def _first(ctx: Context, life: ModelLife, start: Event) -> Finding | None:
    """The clearest case: what stands in the script before what stands beside it."""
    shown = d.evidence(ctx.recipe)
    if any(e.kind == "fsdp" or any(z.stage == 3 for z in d.zeros(ctx.recipe, e.config)) for e in shown):
        return None  # FSDP does not dispatch, ZeRO-3 refuses any map
    for run in q.trained(life):
        for condition, value in options(start.device_map):
            if not _spreads(value) or d.speaks_of(both(start.when, condition)):
                continue
            for e in shown:
                happens = q.possible(start.when, condition, run.when, e.when) if d.holds_at(ctx.recipe, e, run.order) else None
                case = escape(happens, []) if happens is not None else None
                if case is None or not case.certain:
                    continue
                refused = run.how == "trainer" or any(True for _ in life.all("accelerated", before=run.order))
                return ctx.finding(
                    start.device_map_site,
                    f"device_map={value.value!r} spreads the model over all GPUs in every process of a distributed run"
                    + d.aside(e),
                    case=case,
                    severity=Severity.ERROR if e.site is not None else Severity.WARNING,
                    failure=error_text("spread-model-refused-in-distributed") if refused else None,
                    flow=[*d.step(e), (start.device_map_site, "device_map spreads the model"), (run.site, "it is trained")],
                    advice="load one whole copy in each process, on its own GPU",
                    fix=_fix(ctx, start),
                )
    return None


def _fix(ctx: Context, start: Event) -> Fix | None:
    site = start.device_map_site
    if not ctx.here(site) or not isinstance(site.node, cst.Arg) or not isinstance(site.node.value, cst.BaseString):
        return None
    name, imports = ctx.editor.import_name("accelerate", "PartialState", site.stmt)
    placed = ctx.editor.replace(site.node.value, f'{{"": {name}().local_process_index}}')
    return ctx.fix("Load the model on the GPU of the process", placed, imports, safe=False)
