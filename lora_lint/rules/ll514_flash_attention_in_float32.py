"""LL514: FlashAttention is asked for, and the model is loaded in float32."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition, escape
from lora_lint.recipe.events import Event, ModelLife
from lora_lint.recipe.values import ABSENT, FALSE, NONE, Const, Obj, Ref, Value, options
from lora_lint.rule import Context
from lora_lint.versions import ALWAYS, Expr, F

NEEDS = (("library",),)

KEYWORDS = {"attn_implementation": "flash_attention_2", "use_flash_attention_2": True}


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each model with FlashAttention for its type when it is used first."""
    if ctx.recipe.precision:
        return
    for life in q.models(ctx.recipe):
        loaded = q.loaded(life)
        if life.kind != "pretrained" or life.library != "transformers" or loaded is None or loaded.open or "config" in loaded.keywords:
            continue
        for keyword, wanted in KEYWORDS.items():
            for asked, value in options(loaded.keywords.get(keyword, ABSENT)):
                if not isinstance(value, Const) or value.value != wanted:
                    continue
                for condition, dtype in options(loaded.dtype):
                    versions = _float32(dtype)
                    use = _first_use(life)
                    if versions is None or use is None:
                        continue
                    happens = q.possible(loaded.when, asked, condition, use.when)
                    if happens is None:
                        continue
                    yield ctx.finding(
                        loaded.sites[keyword],
                        "FlashAttention takes float16 and bfloat16 only, and this load makes the model float32: the first forward pass fails",
                        case=escape(happens, _cures(life, use)),
                        versions=versions,
                        flow=[(loaded.site, "loaded in float32"), (use.site, "and used without mixed precision")],
                        advice="say torch_dtype=torch.bfloat16",
                        fix=_fix(ctx, loaded) if dtype is ABSENT else None,
                    )


def _float32(dtype: Value) -> Expr | None:
    """On which versions the load makes the model float32."""
    if dtype is ABSENT or dtype is NONE:
        return F("loaded-in-float32-by-default")
    if (isinstance(dtype, Ref) and dtype.name in ("torch.float32", "torch.float")) or (isinstance(dtype, Const) and dtype.value == "float32"):
        return ALWAYS
    return None


def _first_use(life: ModelLife) -> Event | None:
    """The first forward pass that no mixed precision can be around; ``None`` where one of the uses may be under it."""
    uses = list(life.all("forward", "generate", "trained"))
    if any(True for _ in life.all("accelerated")):
        return None
    for use in uses:
        if use.kind == "trained" and use.how == "trainer" and not _plain_trainer(use):
            return None
    return uses[0] if uses else None


def _plain_trainer(run: Event) -> bool:
    """Whether a Trainer's arguments surely ask for no mixed precision."""
    trainer = run.data.get("trainer")
    if not isinstance(trainer, Obj):
        return False
    args = trainer.slots.get("args", ABSENT)
    if not isinstance(args, Obj) or args.kind != "training_args" or args.info.get("by_parser") or args.info.get("open") or trainer.info.get("trl"):
        return False
    return all(args.slots.get(name, ABSENT) in (ABSENT, FALSE, NONE) for name in ("fp16", "bf16", "deepspeed", "fsdp", "fsdp_config"))


def _cures(life: ModelLife, use: Event) -> list[Condition]:
    casts = (e for e in life.all("moved", before=use.order) if e.cast)
    return [*q.conditions(casts), *q.conditions(life.all("quantized")), *q.conditions(life.all("prepared", "escaped", "surgery", before=use.order))]


def _fix(ctx: Context, loaded: Event) -> Fix | None:
    node = loaded.site.node
    if not ctx.here(loaded.site) or not isinstance(node, cst.Call):
        return None
    return ctx.fix("Load it in bfloat16", ctx.editor.add_keyword(node, 'torch_dtype="bfloat16"'), safe=False)
