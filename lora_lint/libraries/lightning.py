"""Summaries of Lightning: the Trainer and Fabric move batches; what training_step returns is backpropagated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lora_lint.libraries import torch
from lora_lint.libraries.registry import FUNCTIONS, attribute, function, harmless, method, recorded
from lora_lint.recipe.values import Bound, Device, Func, Inst, Obj, Seq, Value, unknown

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.interpreter import Call, Interpreter

harmless("lightning", "pytorch_lightning", "lightning_fabric")


@function("lightning.Trainer", "pytorch_lightning.Trainer")
def _trainer(call: Call) -> Value:
    return Obj("lightning_trainer", {}, call.site)


@method("lightning_trainer", "*")
def _fit(call: Call) -> Value:
    m = call.m
    if call.name == "fit":
        for value in call.values():
            if isinstance(value, Inst):
                func = value.cls.lookup("training_step")
                if isinstance(func, Func):
                    inner = type(call)(m, call.node, "training_step")
                    returned = entry_hook(m, func, value, inner)
                    made = m.invoke(func, inner, value)
                    if returned is not None:
                        returned(made)
    return unknown("fit")


@function("lightning.Fabric", "lightning.fabric.Fabric", "lightning_fabric.Fabric")
def _fabric(call: Call) -> Value:
    return Obj("fabric", {}, call.site)


FUNCTIONS["lightning.pytorch.Trainer"] = _trainer


@method("fabric", "setup", "setup_module")
def _setup(call: Call) -> Value:
    m = call.m
    for value in call.args:
        for model in m.models_in(value):
            m.event(model, "moved", call.node, device=Device("follows", "fabric"), method="setup", cast=False, part="", arguments=[])
    return call.args[0] if len(call.args) == 1 else Seq.of(list(call.args), "tuple")


@method("fabric", "setup_dataloaders")
def _loaders(call: Call) -> Value:
    for value in call.args:
        if isinstance(value, Obj) and value.kind == "loader":
            value.info["prepared"] = True
    return call.args[0] if len(call.args) == 1 else Seq.of(list(call.args), "tuple")


@method("fabric", "backward")
def _backward(call: Call) -> Value:
    return torch.backward(call.m, call.args[0] if call.args else unknown("loss"), call.node, "fabric.backward()")


@method("fabric", "*")
def _other(call: Call) -> Value:
    return unknown(f"fabric.{call.name}(…)")


@attribute("fabric", "device")
def _device(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    return torch.device_object(m, Device("follows", "fabric.device"), node)


@attribute("fabric", "*")
def _attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    return Bound(owner, name)


def entry_hook(m: Interpreter, func: Func, owner: Inst | None, call: Call) -> Callable[[Value], None] | None:
    """``training_step`` of a LightningModule: the batch is moved, the returned loss is backpropagated."""
    if owner is None or func.name != "training_step" or not any(b.endswith("LightningModule") for b in owner.cls.library_bases()):
        return None
    names = [n for n, _ in m.parameters(func)][1:]
    if names:
        call.kwargs[names[0]] = torch.batch(m, Device("follows", "self.device"), func.node)

    def returned(value: Value) -> None:
        torch.backward(m, value, func.node, "the value that training_step returns")

    return returned


recorded("backwards", "def training_step & LightningModule*")
recorded("trained", "def training_step & LightningModule*")
recorded("moved", "setup", "setup_module")
