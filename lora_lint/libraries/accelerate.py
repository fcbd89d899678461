"""Summaries of accelerate: the Accelerator and what prepare() takes over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lora_lint.libraries import torch
from lora_lint.libraries.registry import METHODS, attribute, function, harmless, method, recorded
from lora_lint.recipe.values import ABSENT, FALSE, NONE, Bound, Device, Inst, Model, Obj, Phi, Seq, Value, unknown

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.interpreter import Call, Interpreter

harmless("accelerate.utils", "accelerate.logging", "accelerate.DistributedDataParallelKwargs", "accelerate.find_executable_batch_size")


@function("accelerate.Accelerator")
def _accelerator(call: Call) -> Value:
    call.m.recipe.sets_device = True
    return Obj(
        "accelerator", {}, call.site, info={"placement": call.get("device_placement") is not FALSE, "precision": call.get("mixed_precision", 2)}
    )


@method("accelerator", "prepare", "prepare_model", "prepare_data_loader")
def _prepare(call: Call) -> Value:
    m = call.m
    owner = call.owner
    assert isinstance(owner, Obj)
    for value in call.values():
        for part in _alternatives(value):
            if isinstance(part, Obj) and part.kind == "loader" and owner.info["placement"]:
                part.info["prepared"] = True
            elif isinstance(part, (Model, Inst)):
                for model in m.models_in(part):
                    m.event(model, "moved", call.node, device=Device("follows", "accelerator"), method="prepare", cast=False, part="", arguments=[])
                    m.event(model, "accelerated", call.node, precision=owner.info.get("precision", ABSENT))
    if len(call.args) == 1 and not call.open:
        return call.args[0]
    return Seq.of(list(call.args), "tuple", unknown("prepared") if call.open else None)


def _alternatives(value: Value) -> list[Value]:
    if isinstance(value, Phi):
        return [v for _, v in value.options]
    return list(value.elements()) if isinstance(value, Seq) else [value]


@method("accelerator", "backward")
def _backward(call: Call) -> Value:
    return torch.backward(call.m, call.get("loss", 0), call.node, "accelerator.backward()")


@method("accelerator", "unwrap_model", "gather", "gather_for_metrics", "reduce", "pad_across_processes", "skip_first_batches")
def _same(call: Call) -> Value:
    return call.args[0] if call.args else NONE


@method("accelerator", "*")
def _other(call: Call) -> Value:
    return unknown(f"accelerator.{call.name}(…)")


@attribute("accelerator", "*")
def _attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    if name == "device":
        return torch.device_object(m, Device("follows", "accelerator.device"), node)
    if ("accelerator", name) in METHODS or name in (
        "accumulate", "autocast", "clip_grad_norm_", "clip_grad_value_", "print", "log", "wait_for_everyone", "save_state", "load_state",
        "end_training", "init_trackers", "get_state_dict", "no_sync", "main_process_first", "local_main_process_first", "register_for_checkpointing",
        "free_memory", "save_model", "save", "register_save_state_pre_hook", "register_load_state_pre_hook", "get_tracker",
    ):  # fmt: skip
        return Bound(owner, name)
    return m.derive((".", id(owner), name), f"accelerator.{name}")


@function("accelerate.PartialState")
def _state(call: Call) -> Value:
    call.m.recipe.sets_device = True
    return Obj("accelerator", {}, call.site, info={"placement": True})


@function("accelerate.dispatch_model", "accelerate.load_checkpoint_and_dispatch")
def _dispatch(call: Call) -> Value:
    m = call.m
    model = call.get("model", 0)
    for one in m.models_in(model):
        m.event(one, "dispatched", call.node)
    return model if model is not ABSENT else unknown("model")


@function("accelerate.init_empty_weights", "accelerate.infer_auto_device_map", "accelerate.cpu_offload")
def _utility(call: Call) -> Value:
    return unknown(call.name)


recorded("moved", "prepare", "prepare_model")
