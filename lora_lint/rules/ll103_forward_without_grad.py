"""LL103: the training forward, or the part with the adapters, runs without grad."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Backward, ModelLife, Site
from lora_lint.recipe.values import Cut
from lora_lint.rule import Context
from lora_lint.rules._fixes import unwrap
from lora_lint.versions import error_text

NEEDS = (("trained",), ("grad_mode",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each backward pass and each trainer under which grad mode the forward ran."""
    learning = {x.number for b in ctx.recipe.backwards for x in b.tensor.attached}
    for back in ctx.recipe.backwards:
        if back.tensor.forced is not None and id(back.tensor.forced) in ctx.recipe.gradients_read:
            continue
        blamed = q.culprit(back) if q.lost(back) else None
        for cut in back.tensor.cuts:
            if cut.kind not in q.GRAD_MODES:
                continue
            if cut is blamed:
                yield _report(ctx, cut, back, None)
            elif back.tensor.attached:
                for life in sorted(cut.lost, key=lambda x: x.number):
                    if life.number not in learning and _meant_to_learn(life, back):
                        yield _report(ctx, cut, back, life)
    for life in q.models(ctx.recipe):
        yield from _trainers(ctx, life)


def _meant_to_learn(life: ModelLife, back: Backward) -> bool:
    """Whether the script shows that it wants to train this model: it carries adapters that are trainable."""
    return any(e.kind == "wrapped" and q.inference_mode(e.config) is None for e in life.all("wrapped", before=back.order)) and not any(
        f.event for f in q.frozen(life)
    )


def _report(ctx: Context, cut: Cut, back: Backward, life: ModelLife | None) -> Finding | None:
    word = "inference_mode" if cut.kind == "inference_mode" else "no_grad"
    if life is None:
        message = f"The forward pass whose loss is backpropagated runs under {word}"
    else:
        message = f"`{life.name}` runs under {word}, so its adapters learn nothing, without any error: only what follows it is trained"
    inside = _forward_in(ctx, cut)
    return ctx.finding(
        inside or cut.site,
        message,
        case=escape(back.when, []),
        failure=error_text("backward-without-grad") if life is None and back.tensor.forced is None else None,
        flow=[
            (cut.site, f"{word} begins"),
            *([(inside, "the forward pass runs inside it")] if inside else []),
            (back.site, f"backpropagated by {back.how}"),
        ],
        advice=f"take the training forward out of {word}",
        fix=unwrap(ctx, cut.site),
    )


def _forward_in(ctx: Context, cut: Cut) -> Site | None:
    """The forward pass inside a with statement; a decorator is reported where it stands."""
    if isinstance(cut.site.node, cst.Decorator):
        return None
    runs = [e for life in ctx.recipe.models for e in life.all("forward") if e.data.get("grad_site") is not None and e.grad_site.node is cut.site.node]
    return next((e.site for e in runs if ctx.here(e.site) and e.site.function == cut.site.function), None)


def _trainers(ctx: Context, life: ModelLife) -> Iterator[Finding | None]:
    for run in q.trained(life):
        if run.how == "trainer" and run.grad in ("off", "inference") and run.grad_site is not None:
            yield ctx.finding(
                run.grad_site,
                "The trainer runs with gradients switched off",
                case=escape(run.when, []),
                failure=error_text("backward-without-grad"),
                flow=[(run.grad_site, "gradients are off from here"), (run.site, "training starts")],
                advice="train outside of it",
                fix=unwrap(ctx, run.grad_site),
            )
    for event in life.all("loaded"):
        if event.data.get("grad") == "inference":
            for run in q.trained(life):
                yield ctx.finding(
                    event.grad_site,
                    "The model is built under inference_mode: its parameters are inference tensors and can never be trained",
                    case=escape(q.conjunction(run.when, event.when), []),
                    failure=error_text("backward-without-grad"),
                    flow=[(event.grad_site, "inference_mode begins"), (event.site, "the model is loaded"), (run.site, "training starts")],
                    advice="load the model outside of inference_mode",
                )
