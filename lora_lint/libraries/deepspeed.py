"""Summaries of DeepSpeed: the engine owns the model, its device and its optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lora_lint.libraries.registry import function, harmless, recorded
from lora_lint.recipe.values import ABSENT, NONE, Device, Obj, Seq, Value, unknown

if TYPE_CHECKING:
    from lora_lint.recipe.interpreter import Call

harmless("deepspeed")


@function("deepspeed.initialize")
def _initialize(call: Call) -> Value:
    m = call.m
    config = call.get("config")
    config = call.get("config_params") if config is ABSENT else config
    m.distributed("deepspeed", "deepspeed.initialize makes the engine", call.node, config=config)
    model = call.get("model", 1)
    for one in m.models_in(model):
        m.event(one, "moved", call.node, device=Device("follows", "engine"), method="initialize", cast=False, part="", arguments=[])
    given = call.get("optimizer", 2)
    optimizer: Value = given if given is not ABSENT else Obj("optimizer", {}, call.site)
    loader = Obj("loader", {"dataset": ABSENT, "collate": ABSENT}, call.site, info={"open": True, "prepared": False})
    return Seq.of([model if model is not ABSENT else unknown("engine"), optimizer, loader, Obj("scheduler", {}, call.site)], "tuple")


@function("deepspeed.init_distributed")
def _init_distributed(call: Call) -> Value:
    call.m.distributed("processes", "the script joins a process group", call.node)
    return NONE


@function("deepspeed.zero.GatheredParameters", "deepspeed.utils.zero_to_fp32.*")
def _gather(call: Call) -> Value:
    """The script gathers sharded parameters itself."""
    call.m.recipe.gathers = True
    return unknown("gathered")


@function("deepspeed.init_inference")
def _inference(call: Call) -> Value:
    value = call.get("model", 0)
    return value if value is not ABSENT else NONE


recorded("moved", "initialize")
