"""LL503: weights in float16 are trained under a GradScaler, which refuses their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lora_lint.findings import Finding, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition, escape
from lora_lint.recipe.events import Event, ModelLife, Site
from lora_lint.recipe.values import ABSENT, FALSE, NONE, Const, Obj, Ref, Value, options
from lora_lint.rule import Context
from lora_lint.versions import ALWAYS, Expr, F, error_text

NEEDS = (("library",),)

HALF = ("float16", "half")
# Arguments with which something else than the Trainer's own scaler may be at work.
ELSEWHERE = ("deepspeed", "fsdp", "fsdp_config", "half_precision_backend", "fp16_backend", "use_cpu", "no_cuda", "accelerator_config")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each scaler which of the weights that it serves are in float16."""
    for life in q.models(ctx.recipe):
        if not q.is_library(life):
            continue
        for scaler in _scalers(life):
            for half in _halves(life, scaler.event):
                happens = q.possible(scaler.event.when, scaler.when, half.when)
                if happens is None:
                    continue
                yield ctx.finding(
                    scaler.site,
                    f"{scaler.what} scales the loss, and {half.what} in float16: the scaler refuses to unscale such gradients",
                    case=escape(happens, _cures(life, half.event, scaler.event)),
                    versions=half.versions,
                    failure=error_text("half-gradients-not-unscaled"),
                    severity=scaler.severity,
                    flow=q.story((q.loaded(life), "the model is loaded"), (half.event, half.story), (scaler.event, "trained under the scaler")),
                    advice="train weights in float32, which mixed precision casts itself, or use bfloat16 with bf16=True",
                )
                break


@dataclass(frozen=True)
class _Scaler:
    """A scaler at work: the event, when it is on, and where that was asked for."""

    event: Event
    when: Condition
    site: Site
    what: str
    severity: Severity = Severity.ERROR


@dataclass(frozen=True)
class _Half:
    """Trainable weights in float16: the event that made them so, when, and on which versions."""

    event: Event
    when: Condition
    what: str
    story: str
    versions: Expr = ALWAYS


def _scalers(life: ModelLife) -> Iterator[_Scaler]:
    for run in q.trained(life):
        for condition, args in options(run.trainer.slots.get("args", ABSENT)) if isinstance(run.data.get("trainer"), Obj) else ():
            if not isinstance(args, Obj) or args.kind != "training_args" or args.info.get("by_parser") or args.info.get("open"):
                continue
            if q.is_true(args.slots.get("fp16", ABSENT)) and all(args.slots.get(k, ABSENT) in (ABSENT, NONE, FALSE) for k in ELSEWHERE):
                yield _Scaler(run, condition, args.info["sites"].get("fp16", args.site), "fp16=True")
        if run.how == "trainer":
            continue
        for made in life.all("accelerated", before=run.order):
            if isinstance(made.precision, Const) and made.precision.value == "fp16" and q.is_optimized(life, run, run.when):
                yield _Scaler(run, made.when, made.site, 'mixed_precision="fp16"', Severity.WARNING)  # the launcher may choose DeepSpeed instead
    for event in life.all("unscaled"):
        if event.enabled is ABSENT or q.is_true(event.enabled):
            yield _Scaler(event, event.when, event.site, "the GradScaler")


def _halves(life: ModelLife, until: Event) -> Iterator[_Half]:
    before = until.order
    attached = list(q.attached(life, before))
    loaded = q.loaded(life)
    casts = [e for e in life.all("moved", before=before) if e.cast and not e.part and _casts_to_half(e)]
    if loaded is not None and not loaded.data.get("open"):
        casts.insert(0, loaded)
    for cast in casts:
        for condition, dtype in options(loaded.dtype) if cast is loaded and loaded is not None else ((cast.when, Ref("torch.float16")),):
            if not is_half(dtype):
                continue
            when = q.possible(cast.when, condition)
            if when is None:
                continue
            if not attached and not any(True for _ in life.all("frozen", "surgery", before=before)):
                yield _Half(cast, when, "the weights are", "its weights are in float16")
            for wrap in attached:
                if wrap.order < cast.order:
                    yield _Half(cast, when, "the adapters were cast and are", "base and adapters are cast to float16")
                elif wrap.kind == "wrapped" and not any(True for _ in life.all("quantized")):
                    versions = _kept(wrap)
                    together = q.possible(when, wrap.when)
                    recast = q.conditions(e for e in _recast(life, cast.order, wrap.order))
                    if versions is not None and together is not None and not recast:
                        yield _Half(
                            wrap, together, "the adapters take the base's type and are", "adapters are attached to a base in float16", versions
                        )


def _kept(wrap: Event) -> Expr | None:
    """On which versions the adapters take the type of their base; measured for LoRA."""
    if [config.name for _, config in q.config_objects(wrap.config)] != ["LoraConfig"]:
        return None
    if wrap.by == "add_adapter":
        return ALWAYS
    if wrap.by in ("get_peft_model", "trainer"):
        return ALWAYS if wrap.data.get("autocast") is FALSE else F("adapters-keep-half-precision") if not wrap.data.get("open") else None
    return None


def _recast(life: ModelLife, after: int, before: int) -> Iterator[Event]:
    """Events that may have changed the type of the weights."""
    for e in life.all("moved", "prepared", "weights_set", "escaped", "surgery", before=before, after=after):
        if e.kind == "moved" and not (e.cast and not _casts_to_half(e)):
            continue
        if e.kind == "weights_set" and e.data.get("by") != "data":
            continue
        yield e


def _cures(life: ModelLife, half: Event, until: Event) -> list[Condition]:
    return [*q.conditions(_recast(life, half.order, until.order)), *q.conditions(life.all("quantized"))]


def _casts_to_half(event: Event) -> bool:
    return event.method == "half" or any(is_half(v) for given in event.arguments for _, v in options(given))


def is_half(value: Value) -> bool:
    """Whether a value surely is the type float16."""
    return (isinstance(value, Const) and value.value in HALF) or (isinstance(value, Ref) and value.root == "torch" and value.leaf in HALF)
