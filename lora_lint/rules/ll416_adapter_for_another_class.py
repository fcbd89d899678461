"""LL416: an adapter made on a model with a head is loaded onto the bare model, and stays zero."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.findings import Finding
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Event, ModelLife
from lora_lint.recipe.values import ABSENT, Model
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each adapter that is loaded onto a bare model who saved it in this script."""
    for life in q.models(ctx.recipe):
        if not _bare(life):
            continue
        for load in life.all("adapter_loaded"):
            base = load.data.get("base")
            if not isinstance(base, Model) or base.part or load.open:
                continue
            saved = _saved(ctx, load)
            if saved is None:
                continue
            other, save = saved
            happens = q.possible(load.when)
            if happens is None:
                continue
            yield ctx.finding(
                load.site,
                f"The adapter was made on {other.cls} and is loaded onto the bare model: the keys differ by the model's prefix, none is found, "
                "and the adapter stays zero",
                case=escape(happens, q.conditions(life.all("surgery", "escaped", before=load.order))),
                versions=F("adapter-missed-by-bare-model"),
                flow=[(other.site, f"{other.cls} is loaded"), (save.site, "its adapter is saved"), (life.site, f"{life.cls} is loaded"),
                      (load.site, "and gets that adapter")],
                advice=f"load the base with {other.cls}, and take its .base_model or its hidden states",
            )  # fmt: skip


def _bare(life: ModelLife) -> bool:
    """Whether a model is one without a head, by its class."""
    return life.kind == "pretrained" and life.library == "transformers" and life.cls.endswith("Model") and "Head" not in life.cls


def _saved(ctx: Context, load: Event) -> tuple[ModelLife, Event] | None:
    """The model with a causal head whose adapter was saved under the path; ``None`` where anything else may lie there."""
    path = load.data.get("path", ABSENT)
    found = [(x, e) for x in q.models(ctx.recipe) for e in x.all("saved") if e.peft and q.same_path(e.data.get("path", ABSENT), path)]
    ours = [(life, save) for life, save in found if _with_head(life)]
    return ours[0] if ours and len(ours) == len(found) else None


def _with_head(life: ModelLife) -> bool:
    wraps = q.attached(life, life.events[-1].order + 1)
    return life.kind == "pretrained" and "CausalLM" in life.cls and bool(wraps) and not any(e.data.get("part") for e in wraps)
