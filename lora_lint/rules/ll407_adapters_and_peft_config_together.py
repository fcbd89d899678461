"""LL407: a TRL trainer gets peft_config together with a model that has adapters, or with a reference model."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.findings import Finding
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Event, ModelLife
from lora_lint.recipe.values import ABSENT, FALSE, NONE, Model, options
from lora_lint.rule import Context
from lora_lint.versions import F, error_text

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each trainer that wraps what else it was given."""
    for life in q.models(ctx.recipe):
        for wrap in life.all("wrapped"):
            if wrap.by != "trainer" or not wrap.library.startswith("trl."):
                continue
            leaf = wrap.library.rpartition(".")[2]
            if leaf == "SFTTrainer" and wrap.peft:
                yield _twice(ctx, life, wrap)
            elif leaf == "DPOTrainer":
                yield _reference(ctx, wrap)


def _twice(ctx: Context, life: ModelLife, wrap: Event) -> Finding | None:
    """The model is a PeftModel already."""
    for first in reversed(q.attached(life, wrap.order)):
        happens = q.possible(first.when, wrap.when)
        if happens is None or first.by in ("trainer", "trl"):
            continue
        return ctx.finding(
            wrap.trainer.info["config_site"],
            "SFTTrainer refuses peft_config together with a model that has adapters already",
            case=escape(happens, q.conditions(life.all("merged", "escaped", "surgery", before=wrap.order, after=first.order))),
            versions=F("sft-refuses-wrapped-model-with-config"),
            failure=error_text("sft-refuses-wrapped-model-with-config"),
            flow=[(first.site, "adapters are attached here"), (wrap.site, "and the trainer is to attach adapters of its own")],
            advice="pass the base with peft_config, or the PeftModel without it",
        )
    return None


def _reference(ctx: Context, wrap: Event) -> Finding | None:
    """The reference would be the policy without its adapters, but another model is given for it."""
    trainer = wrap.trainer
    if trainer.info["open"] or trainer.info["forced"] not in (ABSENT, FALSE, NONE):
        return None
    for condition, value in options(trainer.slots["ref_model"]):
        happens = q.possible(wrap.when, condition)
        if not isinstance(value, Model) or happens is None:
            continue
        return ctx.finding(
            trainer.info["ref_site"],
            "DPOTrainer refuses a ref_model together with peft_config: the reference is the policy with its adapters switched off",
            case=escape(happens, []),
            versions=F("ref-model-with-config-refused"),
            failure=error_text("ref-model-with-config-refused"),
            flow=[(value.life.site, "the reference is loaded"), (wrap.site, "and given to the trainer with peft_config")],
            advice="leave ref_model out; it also saves the memory of a second model",
        )
    return None
