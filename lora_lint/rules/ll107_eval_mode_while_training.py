"""LL107: the training forward of a custom loop runs in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.findings import Finding, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Event, ModelLife
from lora_lint.rule import Context

NEEDS = (("library",),)

CURES = ("escaped", "given_to_trainer", "surgery")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each training forward of a loop in which mode the model is."""
    for life in q.models(ctx.recipe):
        if life.kind != "pretrained" or not q.is_library(life):
            continue
        for run in q.trained(life):
            forward = _forward(life, run)
            if run.how == "trainer" or forward is None or _samples(ctx, life, run):
                continue
            yield _left(ctx, life, run, forward) or _never(ctx, life, run, forward)


def _forward(life: ModelLife, run: Event) -> Event | None:
    """The last forward with gradients before a backward pass."""
    return next((e for e in reversed(list(life.all("forward", before=run.order))) if e.grad == "on" and not e.data.get("part")), None)


def _samples(ctx: Context, life: ModelLife, run: Event) -> bool:
    """Whether the model generates what it then learns from: such scripts may want evaluation mode."""
    around = [loop for loop in ctx.recipe.loops if loop.start < run.order < loop.end]
    return any(around[0].start < e.order < run.order for e in life.all("generate")) if around else False


def _left(ctx: Context, life: ModelLife, run: Event, forward: Event) -> Finding | None:
    """An evaluation later in a loop, after which the next turn trains."""
    for loop in ctx.recipe.loops:
        if not loop.start < forward.order < run.order < loop.end:
            continue
        for event in life.all("mode", before=loop.end, after=run.order):
            if event.train:
                continue
            cures = [
                e.when
                for e in life.all("mode", *CURES, before=loop.end, after=loop.start)
                if (e.order > event.order or e.order < forward.order) and (e.kind != "mode" or e.train)
            ]
            happens = q.possible(event.when, run.when)
            case = escape(happens, cures) if happens is not None else None
            if case is not None and case.certain:
                calls = event.site.calls[len(run.site.calls) :]
                return ctx.finding(
                    calls[0] if calls else event.site,
                    "Evaluation mode is left on: from the second turn of the loop on, the model trains without dropout and gradient checkpointing",
                    case=case,
                    severity=Severity.WARNING,
                    flow=[(event.site, "set to evaluation mode"), (forward.site, "the next turn trains without train()")],
                    advice="call train() at the top of the loop, or at the end of the evaluation",
                )
    return None


def _never(ctx: Context, life: ModelLife, run: Event, forward: Event) -> Finding | None:
    """Checkpointing was asked for, and the model stays in the evaluation mode in which from_pretrained returns it."""
    asked = next(
        (e for e in life.all("checkpointing", before=forward.order) if e.by != "trainer"),
        None,
    )
    if asked is None or any(True for _ in life.all("mode", "checkpointing_off", *CURES, before=run.order)):
        return None
    happens = q.possible(asked.when, run.when)
    return ctx.finding(
        forward.site,
        "Nothing calls train() on the model: from_pretrained returns it in evaluation mode, so gradient checkpointing does nothing",
        case=escape(happens, []) if happens is not None else None,
        severity=Severity.WARNING,
        flow=[(asked.site, "gradient checkpointing is asked for"), (forward.site, "the forward runs in evaluation mode")],
        advice="call train() before the loop",
    )
