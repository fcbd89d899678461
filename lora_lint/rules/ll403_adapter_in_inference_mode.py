"""LL403: adapters are attached with a configuration that says inference_mode=True."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Case, escape
from lora_lint.recipe.events import Event, ModelLife, Site
from lora_lint.recipe.values import ABSENT, Obj
from lora_lint.rule import Context
from lora_lint.versions import error_text

NEEDS = (("library",), ("wrapped",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each attached adapter whether its configuration freezes it, and whether a stored one was meant to bring its weights."""
    for life in q.models(ctx.recipe):
        for wrap in life.all("wrapped"):
            for condition, config in q.config_objects(wrap.config):
                stored = bool(config.info.get("stored")) and config.slots.get("inference_mode", ABSENT) is ABSENT
                runs = [r for r in q.trained(life) if r.order > wrap.order]
                for run in runs:
                    when = q.inference_mode(wrap.config)
                    happens = q.possible(run.when, wrap.when, condition, when) if when is not None else None
                    if happens is None or q.learns_elsewhere(ctx.recipe, run, life, happens):
                        continue
                    yield _frozen(ctx, life, wrap, run, config, stored, escape(happens, q.cures(life, wrap, run)))
                if stored and not runs:
                    yield _empty(ctx, life, wrap, config, condition)


def _frozen(ctx: Context, life: ModelLife, wrap: Event, run: Event, config: Obj, stored: bool, case: Case | None) -> Finding | None:
    site: Site = wrap.site if stored else config.info["sites"].get("inference_mode", config.site)
    message = (
        "A stored configuration says inference_mode=True: get_peft_model makes a fresh adapter from it, frozen, and never reads the stored weights"
        if stored
        else "inference_mode=True freezes the adapter that is trained below"
    )
    return ctx.finding(
        site,
        message,
        case=case,
        failure=error_text("backward-without-grad"),
        severity=Severity.NOTE if stored and "config" in config.info.get("path", "") else Severity.ERROR,
        flow=[
            *([(config.site, "the configuration")] if config.site is not None else []),
            (wrap.site, "the adapter is attached, frozen"),
            (run.site, "training starts"),
        ],
        advice="use PeftModel.from_pretrained(base, path, is_trainable=True)" if stored else "say inference_mode=False, or leave it out",
        fix=None if stored else _fix(ctx, site),
    )


def _empty(ctx: Context, life: ModelLife, wrap: Event, config: Obj, condition: object) -> Finding | None:
    uses = list(life.all("forward", "generate", after=wrap.order))
    if not uses or wrap.by != "get_peft_model":
        return None
    filled = q.conditions(life.all("weights_set", "adapter_loaded", "escaped", after=wrap.order))
    return ctx.finding(
        wrap.site,
        "get_peft_model makes a fresh random adapter from the stored configuration: the stored weights are never read",
        case=escape(q.conjunction(wrap.when, condition, uses[0].when), filled),  # type: ignore[arg-type]
        flow=[
            *([(config.site, "the stored configuration is read")] if config.site is not None else []),
            (wrap.site, "a fresh adapter is made from it"),
            (uses[0].site, "and used"),
        ],
        advice="use PeftModel.from_pretrained(base, path)",
    )


def _fix(ctx: Context, site: Site) -> Fix | None:
    node = site.node
    if ctx.here(site) and isinstance(node, cst.Arg) and isinstance(node.value, cst.Name) and node.value.value == "True":
        return ctx.fix("Train the adapter", ctx.editor.replace(node.value, "False"))
    return None
