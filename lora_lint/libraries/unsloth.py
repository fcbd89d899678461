"""Summaries of unsloth: it patches the libraries, so that its models prepare, checkpoint and place themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lora_lint.libraries.registry import function, harmless, recorded
from lora_lint.recipe.values import Model, Obj, Seq, Value, unknown

if TYPE_CHECKING:
    from lora_lint.recipe.interpreter import Call

harmless("unsloth")


@function("unsloth.Fast*.from_pretrained")
def _load(call: Call) -> Value:
    m = call.m
    life = m.life("outside", call.node, library="unsloth", cls="FastLanguageModel", checkpoint=call.get("model_name", 0))
    return Seq.of([Model(life), Obj("tokenizer", {}, call.site)], "tuple")


@function("unsloth.Fast*.get_peft_model")
def _wrap(call: Call) -> Value:
    value = call.get("model", 0)
    models = call.m.models_in(value)
    return Model(models[0].life, True) if models else unknown("model")


@function("unsloth.Fast*.for_inference", "unsloth.Fast*.for_training", "unsloth.Fast*.patch_peft_model")
def _mode(call: Call) -> Value:
    return call.args[0] if call.args else unknown("model")


recorded("wrapped", "get_peft_model", "patch_peft_model")
