"""LL508: reentrant checkpointing under DistributedDataParallel that looks for unused parameters."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import distributed as d
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import NEVER, Condition, both, escape
from lora_lint.recipe.events import Distributed, Event, ModelLife, Site
from lora_lint.recipe.values import ABSENT, NONE, TRUE, Dict, Obj, Value, options
from lora_lint.rule import Context
from lora_lint.rules._fixes import trainer_call
from lora_lint.versions import Expr, F, Level

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each run with reentrant checkpointing whether DDP marks parameters as unused before the blocks run again."""
    shown = d.evidence(ctx.recipe)
    if any(e.kind in ("deepspeed", "fsdp") for e in shown):
        return
    for life in q.models(ctx.recipe):
        if not q.is_library(life):
            continue
        reported: set[int] = set()
        for on in q.checkpointings(life):
            versions = _versions(life, on)
            if versions is None or on.event.part or id(on.run.site.node) in reported:
                continue
            here = [e for e in shown if d.holds_at(ctx.recipe, e, on.run.order)]
            searches = _by_trainer(life, on.run, here) if on.run.how == "trainer" else _by_script(life, on.run)
            for condition, site, e in searches:
                happens = q.possible(on.when, condition)
                case = escape(happens, []) if happens is not None else None
                if case is None or not case.certain:
                    continue
                reported.add(id(on.run.site.node))
                failure = F("ddp-reentrant-marked-twice").fact.message.partition(". ")[0]
                yield ctx.finding(
                    _place(on),
                    "The first backward pass under DDP fails: reentrant checkpointing hides the blocks from the search for unused parameters"
                    + (d.aside(e) if e is not None else ""),
                    case=case,
                    versions=versions,
                    failure=failure,
                    severity=Severity.ERROR if e is not None and e.site is not None else Severity.WARNING,
                    flow=[*(d.step(e) if e is not None else []), *site, (_place(on), "reentrant checkpointing"), (on.run.site, "training starts")],
                    advice="ask for non-reentrant checkpointing, or pass ddp_find_unused_parameters=False",
                    fix=_fix(ctx, on),
                )
                break


def _versions(life: ModelLife, on: q.Checkpointing) -> Expr | None:
    """On which versions checkpointing is reentrant and gets as far as DDP; ``None`` where LL101 names what fails before."""
    reentrant = F("reentrant-checkpointing-needs-input-grads")
    trainer = on.run.data.get("trainer")
    trl = isinstance(trainer, Obj) and bool(trainer.info.get("trl"))
    wraps = q.attached(life, on.run.order)
    prepared = any(e.checkpointing != NEVER for e in life.all("prepared", before=on.run.order))
    helped = trl or prepared or not wraps or any(True for _ in life.all("input_grads", "escaped", before=on.run.order))
    helped = helped or (on.event.by == "method" and any(on.event.order < wrap.order for wrap in wraps))
    if on.reentrant:
        return F("ddp-reentrant-marked-twice") if helped else ~reentrant
    return reentrant if helped and not trl else None


def _by_trainer(life: ModelLife, run: Event, shown: list[Distributed]) -> Iterator[tuple[Condition, list[tuple[Site, str]], Distributed | None]]:
    """Each way in which the trainer makes DDP look for unused parameters: it is told to, or the model is a PeftModel and nobody says."""
    given = run.arguments
    if any(given[name] not in (ABSENT, NONE) for name in ("deepspeed", "fsdp", "ddp_static_graph")):
        return
    processes = [e for e in shown if e.kind in ("processes", "ddp")]
    wrapped = run.peft or any(e.by == "trainer" for e in q.wraps(life, run.order))
    for condition, value in options(given["ddp_find_unused_parameters"]):
        if d.speaks_of(both(run.when, condition)):
            continue
        if value == TRUE or ((value is ABSENT or value == NONE) and wrapped):
            for e in processes:
                yield both(condition, e.when), [], e
        if value == TRUE:
            yield condition, [], None


def _by_script(life: ModelLife, run: Event) -> Iterator[tuple[Condition, list[tuple[Site, str]], Distributed | None]]:
    """Each DDP wrap of the script that looks for unused parameters."""
    for wrap in life.all("parallel", before=run.order):
        if wrap.by != "DistributedDataParallel" or wrap.open or "static_graph" in wrap.keywords:
            continue
        for condition, value in options(wrap.keywords.get("find_unused_parameters", ABSENT)):
            if value == TRUE:
                yield both(wrap.when, condition), [], Distributed("ddp", "DDP looks for unused parameters", wrap.site)


def _place(on: q.Checkpointing) -> Site:
    """Where checkpointing is made reentrant: the entry that says so, or where it is switched on."""
    keywords: Value = on.event.keywords
    entry = keywords.sites.get("use_reentrant") if isinstance(keywords, Dict) and on.reentrant else None
    return entry if entry is not None else on.event.site


def _fix(ctx: Context, on: q.Checkpointing) -> Fix | None:
    keywords: Value = on.event.keywords
    title = "Ask for non-reentrant checkpointing"
    if isinstance(keywords, Dict) and keywords.slots.get("use_reentrant") == TRUE:
        site = keywords.sites.get("use_reentrant")
        if site is None or not ctx.here(site) or not isinstance(site.node, cst.DictElement):
            return None
        return ctx.fix(title, ctx.editor.replace(site.node.value, "False"))
    if keywords is not ABSENT or ctx.verdict(F("checkpointing-keywords-accepted")).level is not Level.ALL:
        return None
    node = on.event.reentrant_site.node if on.event.reentrant_site is not None else None
    call = trainer_call(on.event, node) if isinstance(node, cst.Arg) else node
    if not isinstance(call, cst.Call) or not ctx.here(on.event.site):
        return None
    return ctx.fix(title, ctx.editor.add_keyword(call, 'gradient_checkpointing_kwargs={"use_reentrant": False}'))
