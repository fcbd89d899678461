"""LL509: device_map or low_cpu_mem_usage while a ZeRO-3 configuration is active."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import distributed as d
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Case, Condition, both, escape
from lora_lint.recipe.events import Distributed, Event, Site
from lora_lint.recipe.values import ABSENT, NONE, TRUE, Const, Dict, Value, options
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)

REFUSED = ("device_map", "low_cpu_mem_usage")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each load that comes after a ZeRO-3 configuration what it is told about places and memory."""
    shown = [e for e in d.evidence(ctx.recipe) if e.active]
    if not shown:
        return
    for life in q.models(ctx.recipe):
        start = q.loaded(life)
        if start is None or life.library != "transformers":
            continue
        for name in REFUSED:
            given = start.device_map if name == "device_map" else start.keywords.get(name, ABSENT)
            found = _case(ctx, start, given, shown)
            if found is not None:
                yield _report(ctx, start, name, *found)
                break


def _case(ctx: Context, start: Event, given: Value, shown: list[Distributed]) -> tuple[Case, Distributed] | None:
    for condition, value in options(given):
        if not _set(value) or d.speaks_of(both(start.when, condition)):
            continue
        for e in shown:
            before = e.order if e.site is not None else ctx.recipe.arguments_parsed
            if before is None or before > start.order or not d.holds_at(ctx.recipe, e, start.order):
                continue  # the arguments must exist when the model is loaded
            for zero in d.zeros(ctx.recipe, e.config):
                happens = _happens(start, condition, e, zero.when) if zero.stage == 3 else None
                case = escape(happens, []) if happens is not None else None
                if case is not None and case.certain:
                    return case, e
    return None


def _happens(start: Event, condition: Condition, e: Distributed, zero: Condition) -> Condition | None:
    return q.possible(start.when, condition, e.when, zero)


def _set(value: Value) -> bool:
    if value is ABSENT or value is NONE:
        return False
    return isinstance(value, Dict) or (isinstance(value, Const) and value.value not in (False, ""))


def _report(ctx: Context, start: Event, name: str, case: Case, e: Distributed) -> Finding | None:
    versions = F("zero3-refuses-device-map") if name == "device_map" else F("zero3-refuses-low-cpu-memory")
    site: Site = start.device_map_site if name == "device_map" else q.argument_site(start, name)
    return ctx.finding(
        site,
        f"ZeRO-3 shards the model while it is loaded, and from_pretrained then refuses {name}" + d.aside(e),
        case=case,
        versions=versions,
        failure=versions.fact.message,
        severity=Severity.ERROR if e.site is not None else Severity.WARNING,
        flow=[*d.step(e), (site, f"{name} is given")],
        advice="leave out device_map and low_cpu_mem_usage",
        fix=_fix(ctx, start, name),
    )


def _fix(ctx: Context, start: Event, name: str) -> Fix | None:
    """Remove what is refused; the other argument goes along where it is a plain one, since it would be refused next."""
    call, first = start.site.node, q.argument(start, name)
    if not ctx.here(start.site) or not isinstance(call, cst.Call) or first is None:
        return None
    also = q.argument(start, "low_cpu_mem_usage") if name == "device_map" else None
    if also is None or start.keywords.get("low_cpu_mem_usage") != TRUE:
        return ctx.fix(f"Remove {name}", ctx.editor.remove_argument(call, first))
    both_gone = (ctx.editor.remove_argument(call, first), ctx.editor.remove_argument(call, also))
    return ctx.fix("Remove device_map and low_cpu_mem_usage", *both_gone)
