"""Summaries of bitsandbytes and of its configuration class in transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lora_lint.libraries import torch
from lora_lint.libraries.registry import attribute, function, harmless, recorded
from lora_lint.recipe.values import Obj, Value, unknown

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.interpreter import Call, Interpreter

harmless("bitsandbytes")


@function("transformers.BitsAndBytesConfig", "diffusers.BitsAndBytesConfig")
def _config(call: Call) -> Value:
    return Obj("quantization", dict(call.kwargs), call.site, "BitsAndBytesConfig", {"open": call.open})


@attribute("quantization", "*")
def _field(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    assert isinstance(owner, Obj)
    return owner.slots.get(name) or unknown(name)


@function("bitsandbytes.optim.*", "transformers.AdamW", "transformers.Adafactor", "deepspeed.ops.adam.*", "lion_pytorch.Lion")
def _optimizer(call: Call) -> Value:
    return torch.make_optimizer(call)


recorded("quantized", "load_in_*", "quantization_config", "BitsAndBytesConfig", "get_quantization_config", "~bnb")
