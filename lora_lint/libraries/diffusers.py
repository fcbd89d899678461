"""Summaries of diffusers: pipelines, UNets and the parts that LoRA scripts train."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lora_lint.libraries.registry import attribute, function, harmless, method
from lora_lint.libraries.transformers import load
from lora_lint.recipe.values import Bound, Model, Obj, Value, unknown

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.interpreter import Call, Interpreter

harmless("diffusers.optimization", "diffusers.training_utils", "diffusers.utils")


@function("diffusers.*.from_pretrained")
def _from_pretrained(call: Call) -> Value:
    cls = call.name.split(".")[-2]
    if cls.endswith("Scheduler"):
        return Obj("noise_scheduler", {}, call.site)
    if cls.endswith("Processor"):
        return unknown(cls)
    if "Pipeline" in cls:
        return unknown(f"{cls}.from_pretrained(…)")
    model = load(call, "diffusers", cls)
    model.life.kind = "diffusers"
    return model


@function("diffusers.*Scheduler")
def _noise_scheduler(call: Call) -> Value:
    return Obj("noise_scheduler", {}, call.site)


@method("noise_scheduler", "*")
def _noise(call: Call) -> Value:
    """A noise schedule has no parameters: what it returns hangs on its arguments alone."""
    return call.m.combine(call.values(), call.node)


@attribute("noise_scheduler", "*")
def _noise_attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    if name in ("add_noise", "get_velocity", "scale_model_input", "step", "set_timesteps", "scale_noise"):
        return Bound(owner, name)
    return m.derive((".", id(owner), name), f"noise_scheduler.{name}")


@function("diffusers.*.from_config", "diffusers.*.from_unet", "diffusers.*.from_transformer")
def _from_config(call: Call) -> Value:
    cls = call.name.split(".")[-2]
    if not cls.endswith(("Model", "Model2D", "Net")):
        return unknown(cls)
    return Model(call.m.life("diffusers", call.node, library="diffusers", cls=cls))


@function("diffusers.*Model")
def _construct(call: Call) -> Value:
    leaf = call.name.rpartition(".")[2]
    return Model(call.m.life("diffusers", call.node, library="diffusers", cls=leaf))


@function("diffusers.get_scheduler", "transformers.get_scheduler", "transformers.get_*_schedule*")
def _scheduler(call: Call) -> Value:
    return Obj("scheduler", {}, call.site)
