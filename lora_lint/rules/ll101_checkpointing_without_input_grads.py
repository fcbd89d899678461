"""LL101: reentrant checkpointing over a frozen base whose block inputs require no grad."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition, both, escape
from lora_lint.recipe.events import Event, ModelLife, Site
from lora_lint.recipe.values import ABSENT, Obj
from lora_lint.rule import Context
from lora_lint.rules._fixes import trainer_call
from lora_lint.versions import Expr, F, Level

NEEDS = (("library",), ("trained",), ("checkpointing",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each model that trains with checkpointing whether its blocks' inputs can require grad."""
    needs = F("reentrant-checkpointing-needs-input-grads")
    for life in q.models(ctx.recipe):
        if not q.is_library(life):
            continue
        unprepared = q.unprepared(life)
        for on in q.checkpointings(life):
            if unprepared is not None and unprepared.trained.site.node is on.run.site.node:
                continue  # LL201 names the cause: the preparation that is missing
            for wrap in [*q.attached(life, on.run.order), *_by_hand(life, on.run)]:
                versions = _versions(ctx, wrap, on.run, needs)
                if versions is None:
                    continue
                yield from _report(ctx, life, on, wrap, versions)


def _by_hand(life: ModelLife, run: Event) -> list[Event]:
    """Layers put into a base that is frozen as a whole: hand-made adapters."""
    frozen = next((e for e in life.all("frozen", before=run.order) if not e.data.get("partial")), None)
    if frozen is None or q.attached(life, run.order):
        return []
    return [e for e in life.all("surgery", before=run.order, after=frozen.order) if any(x.kind == "layer" and x.trainable for x in e.lives)][:1]


def _versions(ctx: Context, wrap: Event, run: Event, needs: Expr) -> Expr | None:
    """On which versions nobody else does the work; ``None`` where a trainer always does."""
    trainer = run.data.get("trainer")
    if wrap.kind == "wrapped" and wrap.by in ("trainer", "trl"):
        return needs & F("sft-config-leaves-inputs") if wrap.by == "trainer" and "SFT" in wrap.library and ctx.target.known("trl") else None
    if isinstance(trainer, Obj) and trainer.info.get("trl"):
        return needs & F("sft-leaves-wrapped-model") if trainer.name.endswith("SFTTrainer") else None
    return needs


def _report(ctx: Context, life: ModelLife, on: q.Checkpointing, wrap: Event, versions: Expr) -> Iterator[Finding | None]:
    needs = F("reentrant-checkpointing-needs-input-grads")
    trains = q.adapters(wrap.config) if wrap.kind == "wrapped" else q.Adapters(False, False, False)
    if trains.embeddings is not False and trains.embeddings is not None:
        return
    if trains.prompt or on.event.part:
        return
    happens = q.possible(on.when, wrap.when)
    if happens is None:
        return
    quantized = [both(happens, e.when) for e in q.quantized(life)]
    native = wrap.kind == "wrapped" and wrap.by == "add_adapter"
    early = on.event.order < wrap.order
    helped = wrap.kind == "adapter_loaded" or wrap.data.get("by") == "get_peft_model"
    if early and helped and not any(e.bits for e in q.quantized(life)):
        yield ctx.finding(
            on.event.site,
            "Checkpointing before the wrap works because PEFT makes the inputs require grad for a base that is not quantized",
            case=escape(happens, [*_cures(life, wrap, on.run), *quantized]),
            versions=versions,
            severity=Severity.NOTE,
            flow=_flow(life, on, wrap),
        )
        return
    if native and not early:
        return
    ways = [w for w in quantized if q.possible(w) is not None] if early and helped else [happens]
    cures = _cures(life, wrap, on.run)
    for way in ways:
        case = escape(way, cures)
        if case is None:
            continue
        elsewhere = q.learns_elsewhere(ctx.recipe, on.run, life, happens)
        silent = bool(trains.after_blocks) or elsewhere
        message = (
            f"The adapters inside the checkpointed blocks of `{life.name}` get no gradient: only "
            f"{'what else is in the loss' if elsewhere else 'what follows the blocks'} is trained, without any error"
            if silent
            else "The first backward pass fails: reentrant checkpointing runs over a frozen base, and nothing makes the blocks' inputs require grad"
        )
        yield ctx.finding(
            on.event.site,
            message,
            case=case,
            versions=versions,
            failure=None if silent else needs.fact.message,
            flow=_flow(life, on, wrap),
            advice="make the embedding output require grad, or ask for non-reentrant checkpointing",
            fix=_fix(ctx, life, on, wrap),
        )
        return


def _cures(life: ModelLife, wrap: Event, run: Event) -> list[Condition]:
    kinds = ("input_grads", "escaped", "merged") if wrap.kind == "surgery" else ("input_grads", "escaped", "surgery", "merged")
    found = q.conditions(life.all(*kinds, before=run.order))
    found += q.conditions(e for e in life.all("unfrozen", before=run.order, after=wrap.order) if not e.data.get("adapters"))
    found += q.conditions(e for e in life.all("wrapped", before=run.order) if e.by in ("trainer", "trl") and e is not wrap)
    quantized = q.quantized(life)
    for early in life.all("checkpointing", before=run.order):
        for later in (w for w in q.attached(life, run.order) if w.order > early.order and early.by == "method" and not quantized):
            if later.kind == "adapter_loaded" or later.by == "get_peft_model":
                found.append(q.conjunction(early.when, later.when))  # PEFT made the inputs require grad at that wrap
    for prepared in life.all("prepared", before=run.order):
        found += [q.conjunction(prepared.when, prepared.checkpointing, e.when) for e in q.quantized(life)]
    found += q.conditions(e for e in life.all("wrapped", before=run.order) if q.adapters(e.config).embeddings)
    return found


def _flow(life: ModelLife, on: q.Checkpointing, wrap: Event) -> list[tuple[Site, str]]:
    by = "the trainer switches reentrant checkpointing on inside train()" if on.event.by == "trainer" else "checkpointing is switched on"
    attached = (
        "hand-made adapters are put into the frozen base"
        if wrap.kind == "surgery"
        else "the adapter is loaded, the base is frozen"
        if wrap.kind == "adapter_loaded"
        else "adapters are attached, the base is frozen"
    )
    if on.event.order > wrap.order and (wrap.kind == "adapter_loaded" or wrap.data.get("by") == "get_peft_model"):
        attached += "; checkpointing is not on yet, so PEFT leaves the inputs alone"
    steps = q.story((q.loaded(life), "the base is loaded"), (wrap, attached), (on.event, by), (on.run, "training starts"))
    return list(steps)


def _fix(ctx: Context, life: ModelLife, on: q.Checkpointing, wrap: Event) -> Fix | None:
    keywords = on.event.keywords
    accepted = ctx.verdict(F("checkpointing-keywords-accepted")).level is Level.ALL
    node = on.event.reentrant_site.node if on.event.reentrant_site is not None else None
    if on.event.by == "method" and ctx.here(on.event.site) and isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        receiver = ctx.code(node.func.value)
        if q.is_encoder_decoder(life):
            if not accepted or keywords is not ABSENT:
                return None
            return ctx.fix(
                "Ask for non-reentrant checkpointing", ctx.editor.add_keyword(node, 'gradient_checkpointing_kwargs={"use_reentrant": False}')
            )
        if isinstance(on.event.site.stmt, cst.SimpleStatementLine):
            return ctx.fix("Make the inputs require grad", ctx.insert(on.event.site, f"{receiver}.enable_input_require_grads()"))
    if on.event.by == "trainer" and accepted and keywords is ABSENT and isinstance(node, cst.Arg) and ctx.here(on.event.site):
        call = trainer_call(on.event, node)
        if call is not None:
            added = ctx.editor.add_keyword(call, 'gradient_checkpointing_kwargs={"use_reentrant": False}')
            made = ctx.fix("Ask for non-reentrant checkpointing", added)
            if made is not None:
                return made
    if wrap.kind == "wrapped" and wrap.by == "get_peft_model" and ctx.here(wrap.site):
        stmt = wrap.site.stmt
        if isinstance(stmt, cst.SimpleStatementLine) and len(stmt.body) == 1 and isinstance(stmt.body[0], cst.Assign):
            target = stmt.body[0].targets[0].target
            if stmt.body[0].value is wrap.site.node and isinstance(target, (cst.Name, cst.Attribute)):
                return ctx.fix("Make the inputs require grad", ctx.insert(wrap.site, f"{ctx.code(target)}.enable_input_require_grads()"))
    return None
