"""LL512: FSDP around a model with adapters, without use_orig_params=True."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition, escape
from lora_lint.recipe.events import Event
from lora_lint.recipe.values import ABSENT, FALSE, NONE, Const, Dict, Obj, Ref, Seq, Value, options
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)

_BLOCKS = re.compile(r"(Layer|Block|Attention|MLP)$")
_LARGE = 1_000_000  # more parameters than a matrix of an adapter has, so that none is a unit of its own
_EXCEPTIONS = ("ignored_modules", "ignored_parameters", "ignored_states")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each FSDP wrap whether its units hold frozen and trainable parameters side by side."""
    for life in q.models(ctx.recipe):
        for wrap in life.all("parallel"):
            if wrap.by != "FullyShardedDataParallel" or wrap.open or any(name in wrap.keywords for name in _EXCEPTIONS):
                continue
            if not _whole_blocks(wrap.keywords.get("auto_wrap_policy", ABSENT)):
                continue
            for adapters in q.attached(life, wrap.order):
                if q.freezes(life, adapters) is not None:
                    continue
                between = life.all("unfrozen", "frozen", "escaped", "surgery", "merged", before=wrap.order, after=adapters.order)
                yield from _report(ctx, wrap, adapters, q.conditions(between))


def _report(ctx: Context, wrap: Event, adapters: Event, cures: list[Condition]) -> Iterator[Finding | None]:
    for condition, value in options(wrap.keywords.get("use_orig_params", ABSENT)):
        happens = q.possible(wrap.when, adapters.when, condition)
        if happens is None or value not in (ABSENT, FALSE):
            continue
        versions = F("fsdp-needs-uniform-requires-grad")
        yield ctx.finding(
            q.argument_site(wrap, "use_orig_params"),
            "FSDP flattens the parameters of a unit into one, and here frozen and trainable ones meet in a unit: wrapping fails",
            case=escape(happens, cures),
            versions=versions,
            failure=versions.fact.message,
            flow=[(adapters.site, "adapters are attached, the base is frozen"), (wrap.site, "the model is wrapped")],
            advice="pass use_orig_params=True",
            fix=_fix(ctx, wrap),
        )


def _whole_blocks(policy: Value) -> bool:
    """Whether a policy surely makes units that are larger than a layer of an adapter."""
    if policy is ABSENT or policy is NONE:
        return True
    if isinstance(policy, Obj) and policy.kind == "wrap_policy":
        return _are_blocks(policy.slots["classes"])
    if isinstance(policy, Obj) and policy.kind == "partial":
        target, keywords = policy.slots["target"], policy.slots["kwargs"]
        given = keywords.slots if isinstance(keywords, Dict) else {}
        if isinstance(target, Ref) and target.leaf == "transformer_auto_wrap_policy":
            return _are_blocks(given.get("transformer_layer_cls", ABSENT))
        if isinstance(target, Ref) and target.leaf == "size_based_auto_wrap_policy":
            size = given.get("min_num_params", Const(_LARGE))
            return isinstance(size, Const) and isinstance(size.value, (int, float)) and size.value >= _LARGE
    return False


def _are_blocks(classes: Value) -> bool:
    """Whether all classes are blocks of a transformer by their names."""
    if not isinstance(classes, Seq) or classes.rest is not None or not classes.items:
        return False
    return all(isinstance(c, Ref) and _BLOCKS.search(c.leaf) for c in classes.items)


def _fix(ctx: Context, wrap: Event) -> Fix | None:
    call = wrap.site.node
    if not ctx.here(wrap.site) or not isinstance(call, cst.Call):
        return None
    given = q.argument(wrap, "use_orig_params")
    if given is None:
        return ctx.fix("Keep the original parameters", ctx.editor.add_keyword(call, "use_orig_params=True"))
    if isinstance(given.value, cst.Name) and given.value.value == "False":
        return ctx.fix("Keep the original parameters", ctx.editor.replace(given.value, "True"))
    return None
