"""LL201: a 4- or 8-bit base gets adapters and is trained without preparation."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Case, escape
from lora_lint.recipe.events import ModelLife
from lora_lint.rule import Context
from lora_lint.versions import ALWAYS, F, Level

NEEDS = (("library",), ("trained",), ("quantized",), ("wrapped", "adapter_loaded"))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each quantized base that is trained with adapters who prepared it."""
    needs = F("reentrant-checkpointing-needs-input-grads")
    for life in q.models(ctx.recipe):
        found = q.unprepared(life)
        if found is None:
            continue
        crash = _with_checkpointing(life, found)
        applies = crash is not None and ctx.verdict(needs).level is not Level.NONE
        flow = q.story(
            (q.loaded(life), "the base is loaded"),
            (found.quantized, f"quantized to {found.quantized.bits} bits"),
            (found.wrapped, "adapters are attached to the base as it is"),
            *([(crash[0].event, "checkpointing is switched on")] if crash is not None else []),
            (found.trained, "training starts"),
        )
        advice = "call prepare_model_for_kbit_training before the adapters are attached"
        fix = _fix(ctx, life, found, crash is not None)
        if applies and crash is not None:
            silent = found.wrapped.kind == "wrapped" and bool(q.adapters(found.wrapped.config).after_blocks)
            yield ctx.finding(
                found.wrapped.site,
                f"The {found.quantized.bits}-bit base is not prepared for training, and checkpointing is on: "
                + ("the adapters get no gradient, without any error" if silent else "the first backward pass fails"),
                case=crash[1],
                versions=needs,
                failure=None if silent else needs.fact.message,
                flow=flow,
                advice=advice,
                fix=fix,
            )
        else:
            yield ctx.finding(
                found.wrapped.site,
                f"The {found.quantized.bits}-bit base is not prepared for training: it trains, but its norms and output head stay in half precision"
                + ("" if crash is not None else ", and gradient checkpointing would fail on transformers < 5"),
                case=found.case,
                versions=ALWAYS,
                severity=Severity.WARNING,
                flow=flow,
                advice=advice,
                fix=fix,
            )


def _with_checkpointing(life: ModelLife, found: q.Unprepared) -> tuple[q.Checkpointing, Case] | None:
    for on in q.checkpointings(life):
        happens = q.possible(found.happens, on.when)
        if happens is None:
            continue
        case = escape(happens, q.preparations(life, on.run.order))
        if case is not None and case.certain:
            return on, case
    return None


def _fix(ctx: Context, life: ModelLife, found: q.Unprepared, checkpointing: bool) -> Fix | None:
    """Insert ``x = prepare_model_for_kbit_training(x)`` before the statement that attaches the adapters."""
    site = found.wrapped.site
    call = site.node
    if not ctx.here(site) or not isinstance(call, cst.Call) or site.stmt is None or found.quantized.when != found.wrapped.when:
        return None
    target: cst.BaseExpression | None = None
    if found.wrapped.kind == "wrapped" and found.wrapped.by == "get_peft_model":
        named = next((a.value for a in call.args if a.keyword is not None and a.keyword.value == "model"), None)
        target = named or (call.args[0].value if call.args and call.args[0].keyword is None else None)
    elif found.wrapped.kind == "wrapped" and isinstance(call.func, cst.Attribute):
        target = call.func.value
    if target is None or not isinstance(site.stmt, cst.SimpleStatementLine):
        return None
    name, imports = ctx.editor.import_name("peft", "prepare_model_for_kbit_training", site.stmt)
    text = ctx.code(target)
    # Its default turns checkpointing on, and the input grads that go with it do not reach the second stack of such a model.
    rest = "" if checkpointing or not q.is_encoder_decoder(life) else ", use_gradient_checkpointing=False"
    if isinstance(target, (cst.Name, cst.Attribute)):
        return ctx.fix("Prepare the quantized base first", ctx.insert(site, f"{text} = {name}({text}{rest})", after=False), imports)
    return ctx.fix("Prepare the quantized base first", ctx.editor.replace(target, f"{name}({text}{rest})"), imports)
