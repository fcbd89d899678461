"""Summaries of TRL: its trainers wrap, prepare and move by themselves; its configurations are training arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lora_lint.libraries.registry import function, harmless, recorded
from lora_lint.libraries.transformers import load, make_trainer, training_arguments
from lora_lint.recipe.values import NONE, Obj, Value, options, unknown

if TYPE_CHECKING:
    from lora_lint.recipe.interpreter import Call

harmless("trl.setup_chat_format", "trl.create_reference_model")


@function("trl.*Trainer")
def _trainer(call: Call) -> Value:
    return make_trainer(call, call.name)


@function("trl.SFTConfig", "trl.DPOConfig", "trl.*Config")
def _config(call: Call) -> Value:
    leaf = call.name.rpartition(".")[2]
    if leaf == "ModelConfig":
        return Obj("settings", dict(call.kwargs), call.site, call.name, {"sites": {}, "open": True, "by_parser": True})
    return training_arguments(call)


@function("trl.get_peft_config")
def _peft_config(call: Call) -> Value:
    """LoraConfig or None, as ModelConfig.use_peft says."""
    m = call.m
    flag = m.derive(("trl.use_peft", id(call.args[0]) if call.args else 0), "model_args.use_peft")
    true, false = m.truth(flag)
    config: Value = Obj("adapter_config", {}, call.site, "LoraConfig", {"open": True, "sites": {}, "stored": False})
    return m.branch([(true, lambda: config), (false, lambda: NONE)])


@function("trl.get_quantization_config")
def _quantization(call: Call) -> Value:
    return unknown("get_quantization_config(…)")


@function("trl.AutoModelFor*.from_pretrained")
def _value_head(call: Call) -> Value:
    """A model with a value head; given ``peft_config`` it wraps (and for quantized bases prepares) by itself."""
    m = call.m
    given = call.args[0] if call.args else NONE
    models = m.models_in(given)
    from lora_lint.recipe.values import Model

    model = models[0] if models else load(call, "trl", call.name.split(".")[-2])
    for condition, config in options(call.get("peft_config")):
        if isinstance(config, Obj):
            m.event(model, "wrapped", call.node, when=condition, by="trl", config=config, library="trl")
    m.event(model, "escaped", call.node, to="trl")
    return Model(model.life, model.peft)


recorded("wrapped", "AutoModelFor*")
