"""Summaries of PyTorch: tensors, devices, grad modes, modules, parameters, optimizers, data loaders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from lora_lint.libraries.registry import METHODS, attribute, function, harmless, method, recorded, recorded_in
from lora_lint.recipe.conditions import ALWAYS, Condition, Subject, both
from lora_lint.recipe.events import Backward, Branch, FileRead, FileWritten, ModelLife, OptimizerLife
from lora_lint.recipe.machine import GradMode
from lora_lint.recipe.values import (
    ABSENT,
    CPU,
    FALSE,
    NONE,
    SOMEWHERE,
    TRUE,
    Bound,
    Cls,
    Const,
    Device,
    Dict,
    Func,
    Inst,
    Mask,
    Method,
    Model,
    Obj,
    Phi,
    Ref,
    Seq,
    Sym,
    Tensor,
    Value,
    options,
    unknown,
    walk,
)

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.interpreter import Call, Interpreter

harmless(
    "torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_", "torch.manual_seed", "torch.load",
    "torch.distributed", "torch.cuda", "torch.backends", "torch.optim.lr_scheduler", "torch.profiler", "torch.onnx", "torch.utils.tensorboard",
    "torch.numel", "torch.is_tensor", "torch.set_float32_matmul_precision",
)  # fmt: skip
WEIGHTLESS = frozenset(
    "ReLU GELU SiLU Tanh Sigmoid Softmax LogSoftmax Dropout Dropout1d Dropout2d Identity Flatten Unflatten MaxPool2d AvgPool2d AdaptiveAvgPool2d "
    "LeakyReLU ELU Softplus Mish Hardswish CosineSimilarity PairwiseDistance Upsample".split()
)
CONTAINERS = frozenset(("Sequential", "ModuleList", "ModuleDict", "ParameterList"))
DATA_NAMES = (
    "input_ids",
    "pixel",
    "image",
    "img",
    "batch",
    "mask",
    "label",
    "token",
    "audio",
    "text",
    "ids",
    "input_values",
    "input_features",
    "video",
)


# -------------------------------------------------------------------- devices
def device_of(value: Value) -> Device:
    """Where ``.to(value)`` puts something."""
    found = [_plain_device(v) for _, v in options(value)]
    cuda = next((d for d in found if d.kind in ("cuda", "cuda?")), None)
    if cuda is not None:
        return Device(cuda.kind, cuda.text, value) if len(found) == 1 else Device("cuda?", cuda.text, value)
    if all(d.kind == "cpu" for d in found):
        return CPU
    return next((d for d in found if d.kind == "follows"), SOMEWHERE)


def _plain_device(value: Value) -> Device:
    if isinstance(value, Const):
        if isinstance(value.value, str):
            kind = value.value.partition(":")[0]
            return Device("cuda", value.value) if kind == "cuda" else CPU if kind == "cpu" else Device("follows", value.value)
        if isinstance(value.value, int) and not isinstance(value.value, bool):
            return Device("cuda", str(value.value))
        return SOMEWHERE
    if isinstance(value, Obj):
        if value.kind == "device":
            return value.info["device"]  # type: ignore[no-any-return]
        if value.kind == "text" and str(value.info.get("prefix", "")).startswith("cuda"):
            return Device("cuda", "cuda:…")
    if isinstance(value, Tensor):
        return value.device
    if isinstance(value, Sym):
        default = value.subject.default[0] if value.subject.default else None
        if isinstance(default, str) and default.startswith("cuda"):
            return Device("cuda?", value.text, value)
        return Device("follows", value.text, value)
    return SOMEWHERE


def device_object(m: Interpreter, device: Device, node: cst.CSTNode) -> Obj:
    return Obj("device", {}, m.site(node), info={"device": device})


@function("torch.device")
def _device(call: Call) -> Value:
    m = call.m
    return m.each(call.get("type", 0), lambda v: device_object(m, device_of(v), call.node))


@attribute("device", "type", "index")
def _device_type(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    device = device_of(owner)
    return Const("cuda") if device.kind == "cuda" and name == "type" else m.derive(("devicetype", id(owner), name), f"device.{name}", declared=False)


@function("torch.cuda.is_available")
def _cuda_available(call: Call) -> Value:
    found = call.m.derive(("cuda",), "torch.cuda.is_available()", (True,))
    call.m.recipe.cuda = call.m.truth(found)[0]
    return found


@function("torch.cuda.set_device", "torch.set_default_device", "torch.set_default_tensor_type", "torch.cuda.device")
def _set_device(call: Call) -> Value:
    call.m.recipe.sets_device = True
    call.m.recipe.default_device = call.m.recipe.default_device or "default" in call.name
    return NONE


@function("torch.cuda.current_device")
def _current_device(call: Call) -> Value:
    return device_object(call.m, Device("follows", "torch.cuda.current_device()"), call.node)


# -------------------------------------------------------------------- precision
@function("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.amp.autocast_mode.autocast", "torch.set_default_dtype")
def _precision(call: Call) -> Value:
    """Something other than the load decides the type in which parts of the script compute."""
    call.m.recipe.precision = True
    return unknown(call.name)


# -------------------------------------------------------------------- grad modes
def _mode(mode: str) -> Callable[[Call], Value]:
    def handler(call: Call) -> Value:
        chosen = mode
        if mode in ("inference", "set") and (call.args or call.kwargs):
            true, false = call.m.truth(call.args[0] if call.args else next(iter(call.kwargs.values())))
            on = "inference" if mode == "inference" else "on"
            off = "on" if mode == "inference" else "off"
            chosen = on if true == ALWAYS else off if false == ALWAYS else "maybe"
        if call.args and mode != "set" and isinstance(call.args[0], (Func, Method)):
            return _wrapped_function(call, chosen)
        return Obj("grad_mode", {}, call.site, mode, {"mode": chosen})

    return handler


def _wrapped_function(call: Call, mode: str) -> Value:
    target = call.args[0]
    return Obj("moded", {"target": target}, call.site, info={"mode": mode})


function("torch.no_grad", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad")(_mode("off"))
function("torch.inference_mode", "torch.autograd.inference_mode")(_mode("inference"))
function("torch.enable_grad")(_mode("on"))
function("torch.set_grad_enabled")(_mode("set"))
MODES = {"torch.no_grad": "off", "torch.inference_mode": "inference", "torch.enable_grad": "on", "torch.autograd.no_grad": "off"}


@method("moded", "__call__")
def _call_moded(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    m = call.m
    m.modes.append(GradMode(owner.info["mode"], owner.site or call.site))
    value = m.call(owner.slots["target"], call)
    m.modes.pop()
    return value


@method("grad_mode", "__call__")
def _decorate(call: Call) -> Value:
    """``torch.no_grad()(function)``."""
    owner = call.owner
    assert isinstance(owner, Obj)
    return _wrapped_function(call, owner.info["mode"]) if call.args else NONE


def decorator_mode(value: Value) -> str:
    """The grad mode that a decorator sets, or an empty string."""
    if isinstance(value, Obj) and value.kind == "grad_mode":
        return str(value.info["mode"])
    return MODES.get(value.name, "") if isinstance(value, Ref) else ""


@function("torch.is_grad_enabled")
def _grad_enabled(call: Call) -> Value:
    mode = call.m.modes[-1].mode if call.m.modes else "on"
    return TRUE if mode == "on" else FALSE if mode in ("off", "inference") else unknown("torch.is_grad_enabled()")


def enter(m: Interpreter, value: Obj, item: cst.WithItem) -> Callable[[], None] | None:
    """Enter a context manager that concerns a model; returns what leaving it does."""
    if value.kind == "device":
        m.recipe.default_device = True
    if value.kind == "disabled_adapters":
        for model in m.models_in(value.slots["model"]):
            m.event(model, "disabled", item, scope="with")

        def leave() -> None:
            for model in m.models_in(value.slots["model"]):
                m.event(model, "enabled", item)

        return leave
    return None


# -------------------------------------------------------------------- tensors
def combine_unknown(call: Call, values: list[Value]) -> Tensor | None:
    """The result of code that we cannot see over tensors or models: it may carry a gradient."""
    m = call.m
    if any(isinstance(v, (Tensor, Model)) or (isinstance(v, Obj) and v.kind in ("encoding", "batch")) for x in values for v in walk(x)):
        made = m.combine(values, call.node)
        return m.result(Tensor(made.attached, made.cuts, SOMEWHERE, True, through=made.through, site=made.site))
    return None


def symbol_result(callee: Sym, call: Call) -> Value:
    """The result of calling an unknown value with unknown arguments."""
    m = call.m
    if m.modes and m.modes[-1].mode in ("off", "inference"):
        return m.result(Tensor(opaque=True, site=call.site))
    return unknown(f"{callee.text}(…)", tensor=callee.text.rpartition(".")[2] not in TENSOR_MAKERS)


def tensor_method_on_unknown(callee: Sym, name: str, call: Call) -> Value:
    """``x.detach()`` on an unknown value: whatever it was, no gradient comes through."""
    m = call.m
    whole = Tensor(opaque=True, site=call.site)
    return m.detached([whole], name, call.node, number=name in ("item", "tolist", "numpy"), removable=name in ("detach", "item"))


TENSOR_MAKERS = frozenset(
    ("to", "cuda", "cpu", "long", "get", "pop", "items", "keys", "values", "size", "split", "strip", "format", "join", "copy", "index", "count")
)

CUTTING = {
    "detach": (False, True), "item": (True, True), "tolist": (True, False), "numpy": (True, False), "argmax": (False, False),
    "argmin": (False, False), "argsort": (False, False), "long": (False, False), "int": (False, False), "bool": (False, False),
    "byte": (False, False), "short": (False, False), "eq": (False, False), "ne": (False, False), "gt": (False, False), "lt": (False, False),
    "ge": (False, False), "le": (False, False), "sign": (False, False), "nonzero": (False, False), "isnan": (False, False),
    "isfinite": (False, False), "__float__": (True, False),
}  # fmt: skip


def _cutting(call: Call) -> Value:
    owner = call.owner
    assert owner is not None
    number, removable = CUTTING[call.name]
    made = call.m.detached([owner], call.name, call.node, number=number, removable=removable)
    return replace(made, tokens=owner.tokens) if isinstance(owner, Tensor) and call.name in ("detach", "long", "int") else made


for _name in CUTTING:
    METHODS["tensor", _name] = _cutting


def compared(m: Interpreter, operator: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
    """``tensor == value``: no gradient comes through, and what was compared stays known."""
    made = m.detached([left, right], "comparison", node)
    of, to = (left, right) if isinstance(left, Tensor) else (right, left)
    known = {f.name: getattr(made, f.name) for f in fields(Tensor)}
    return Mask(**known, operator=operator, of=of, to=to)


@method("tensor", "*")
def _tensor_method(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Tensor)
    if call.name in ("clone", "contiguous", "pin_memory"):
        return replace(call.m.combine([owner], call.node), tokens=owner.tokens)
    if call.name in ("masked_fill", "masked_fill_") and len(call.args) == 2:
        from lora_lint.libraries import tokenizers

        tokenizers.written(call.m, owner, call.args[0], call.args[1], call.node)
        return replace(call.m.combine([owner, *call.args], call.node), tokens=owner.tokens)
    if call.name in ("size", "dim", "numel", "element_size", "stride", "is_contiguous", "get_device"):
        return unknown(call.name)
    if call.name.endswith("_") and not call.name.startswith("_") and owner.number is False:
        return call.m.combine([owner, *call.values()], call.node)
    return call.m.combine([owner, *call.values()], call.node)


@method("tensor", "to", "cuda", "cpu", "type", "half", "float", "double", "bfloat16")
def _tensor_to(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Tensor)
    device = moved_to(call)
    if call.name == "type" and any(isinstance(v, Ref) and v.name.startswith("torch.cuda.") for v in call.values()):
        device = Device("cuda", "cuda", site=call.site)
    if call.name in ("to", "type") and any(
        isinstance(v, Ref) and v.leaf in ("long", "int64", "int32", "int", "bool", "uint8") for v in call.values()
    ):
        return replace(call.m.detached([owner], "integer cast", call.node, device=device), tokens=owner.tokens)
    return replace(call.m.combine([owner], call.node, device or owner.device), tokens=owner.tokens)


def moved_to(call: Call) -> Device | None:
    """The device that ``.to(…)``, ``.cuda(…)`` or ``.cpu()`` names, ``None`` where it only casts."""
    if call.name == "cpu":
        return CPU
    if call.name == "cuda":
        index = call.get("device", 0)
        if index is ABSENT:
            return Device("cuda", "cuda", site=call.site)
        found = device_of(index)
        return Device("cuda" if found.kind in ("cuda", "unknown") else found.kind, found.text or "cuda", index, call.site)
    if call.name != "to":
        return None
    value = call.get("device", 0)
    if value is ABSENT or is_dtype(value):
        return None
    found = device_of(value)
    return Device(found.kind, found.text, value, call.site)


def is_dtype(value: Value) -> bool:
    """Whether a value is a dtype and not a device."""
    if isinstance(value, Phi):
        return all(is_dtype(v) for _, v in value.options)
    return (isinstance(value, Ref) and value.root == "torch" and value.leaf != "device") or (isinstance(value, Sym) and "dtype" in value.text)


@method("tensor", "requires_grad_")
def _requires_grad(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Tensor)
    given = call.get("requires_grad", 0)
    if given is not ABSENT and given is not TRUE:
        return owner
    return force(call.m, owner, call.node)


def force(m: Interpreter, tensor: Tensor, node: cst.CSTNode) -> Tensor:
    """The tensor with requires_grad set by hand."""
    made = Tensor(tensor.attached, tensor.cuts, tensor.device, tensor.opaque, False, tensor.through, m.site(node), True, tensor.site)
    for scope in _holders(m, tensor):
        m.store(scope[0], scope[1], made)
    return made


def _holders(m: Interpreter, tensor: Tensor) -> list[tuple[dict[object, Value], object]]:
    """The variables that hold a tensor which is changed in place."""
    found: list[tuple[dict[object, Value], object]] = []
    scope = m.scope
    seen = 0
    while scope is not None and seen < 8:
        found.extend((scope.slots, k) for k, v in scope.slots.items() if v is tensor)
        scope = scope.parent  # type: ignore[assignment]
        seen += 1
    return found


@method("tensor", "backward")
def _backward(call: Call) -> Value:
    assert call.owner is not None
    return backward(call.m, call.owner, call.node, ".backward()")


def backward(m: Interpreter, value: Value, node: cst.CSTNode, how: str) -> Value:
    """Record that a value is backpropagated."""
    if isinstance(value, Phi):
        return m.each(value, lambda v: backward(m, v, node, how))
    if isinstance(value, Seq) and value.items:
        value = value.items[0]
    if isinstance(value, Dict):
        value = value.slots.get("loss", NONE)
    if isinstance(value, Phi):
        return m.each(value, lambda v: backward(m, v, node, how))
    if isinstance(value, Tensor):
        m.recipe.backwards.append(Backward(value, m.site(node), m.pc, m.tick(), how))
        for life in value.through | value.attached:
            if life.kind != "input":
                m.event(life, "trained", node, how=how, trainer=None, opaque=value.opaque)
    return NONE


@attribute("tensor", "data", "grad_fn", "grad", "shape", "dtype", "device", "ndim", "is_cuda", "requires_grad", "layout")
def _tensor_data(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    assert isinstance(owner, Tensor)
    if name == "grad" and owner.forced is not None:
        m.recipe.gradients_read.add(id(owner.forced))
    if name == "data":
        return m.detached([owner], "data", node, removable=True)
    if name == "device":
        return device_object(m, Device("follows", "a tensor", owner) if owner.device.kind == "unknown" else owner.device, node)
    return m.derive((name, id(owner)), f"tensor.{name}")


@attribute("tensor", "*")
def _tensor_attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    if ("tensor", name) in METHODS or name in TENSOR_METHODS:
        return Bound(owner, name)
    return owner if not isinstance(owner, Tensor) or owner.tokens is None else replace(owner, tokens=None)


TENSOR_METHODS = frozenset(
    "mean sum view reshape squeeze unsqueeze transpose permute contiguous clone log exp sqrt pow softmax log_softmax sigmoid tanh gather scatter "
    "masked_fill masked_fill_ clamp clamp_ max min norm matmul mm bmm add sub mul div add_ sub_ mul_ div_ expand expand_as repeat size dim numel "
    "cumsum flatten chunk split topk sort index_select type_as to_dense fill_ zero_ copy_ new_zeros new_ones new_full new_tensor item retain_grad "
    "register_hook abs neg t any all std var square relu logsumexp masked_select select narrow unbind roll flip cross_entropy stack cat where "
    "repeat_interleave apply_ is_floating_point pin_memory share_memory_ unfold prod keys values items get pop update to_tuple scatter_ index_fill_ "
    "index_add_ index_copy_ lerp round floor ceil outer dot logical_and logical_or logical_not nan_to_num element_size stride".split()
)


@function("torch.tensor", "torch.as_tensor", "torch.from_numpy", "torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.autograd.Variable",
          "torch.cuda.FloatTensor", "torch.stack", "torch.cat", "torch.concat")  # fmt: skip
def _tensor(call: Call) -> Value:
    m = call.m
    leaf = call.name.rpartition(".")[2]
    values = call.values()
    if leaf in ("stack", "cat", "concat"):
        made = m.combine(values, call.node)
        if made.device.kind == "unknown" and not any(isinstance(v, Tensor) for x in values for v in walk(x)):
            return Tensor(device=SOMEWHERE, site=call.site)
        return made
    device = call.get("device")
    where = _factory_device(call)
    if leaf.startswith("Variable") or leaf == "as_tensor":
        made = m.combine(values, call.node, None if device is ABSENT else where)
    else:
        made = m.detached(values, f"torch.{leaf}()", call.node, device=where)
    if call.get("requires_grad") is TRUE:
        made = Tensor(made.attached, made.cuts, made.device, made.opaque, False, made.through, call.site, True, made.site)
    return made


def _factory_device(call: Call) -> Device:
    """Where a factory function makes its tensor."""
    device = call.get("device")
    if device is ABSENT:
        return SOMEWHERE if call.m.recipe.default_device or call.open else CPU
    found = device_of(device)
    return Device(found.kind, found.text, device, call.site_of("device"))


@function("torch.ones", "torch.zeros", "torch.arange", "torch.full", "torch.rand", "torch.randn", "torch.randint", "torch.empty", "torch.eye",
          "torch.linspace", "torch.randperm")  # fmt: skip
def _made(call: Call) -> Value:
    made = Tensor(device=_factory_device(call), site=call.site)
    if call.get("requires_grad") is TRUE:
        life = call.m.life("layer", call.node, library="torch", cls="Tensor")
        return Tensor(frozenset((life,)), device=made.device, site=call.site)
    return made


@function("torch.randn_like", "torch.rand_like", "torch.zeros_like", "torch.ones_like", "torch.empty_like", "torch.full_like", "torch.randint_like")
def _like(call: Call) -> Value:
    source = next((v for v in call.args if isinstance(v, Tensor)), None)
    return Tensor(device=source.device if source is not None else SOMEWHERE, site=call.site)


@function("torch.argmax", "torch.argmin", "torch.argsort", "torch.eq", "torch.gt", "torch.lt", "torch.sign", "torch.isnan", "torch.multinomial")
def _torch_cutting(call: Call) -> Value:
    return call.m.detached(call.values(), call.name.rpartition(".")[2], call.node)


@function("numpy.*")
def _numpy(call: Call) -> Value:
    values = call.values()
    if any(isinstance(v, Tensor) for x in values for v in walk(x)):
        return call.m.detached(values, "numpy", call.node, number=True)
    return unknown(f"{call.name}(…)")


# -------------------------------------------------------------------- modules
def is_module(cls: Cls) -> bool:
    """Whether a project class is a torch module by its own bases (not a transformers model or a Lightning module)."""
    return any(name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper() for name in cls.library_bases())


@function("torch.nn.*")
def _layer(call: Call) -> Value:
    """A layer or a loss of torch.nn, or a function of torch.nn.functional and the like."""
    leaf = call.name.rpartition(".")[2]
    m = call.m
    if not leaf[:1].isupper():
        return weighed(m, m.combine(call.values(), call.node), call.values())
    if leaf.endswith("Loss"):
        return Obj("layer", {}, call.site, call.name, {"weights": False})
    held = dict(enumerate(call.values()))
    if leaf in CONTAINERS:
        return Obj("layer", held, call.site, call.name, {"weights": False, "container": True})
    if leaf in WEIGHTLESS or leaf.endswith(("Dropout", "Pool1d", "Pool2d")):
        return Obj("layer", {}, call.site, call.name, {"weights": False})
    life = m.life("layer", call.node, library="torch", cls=leaf)
    return Obj("layer", {"life": Model(life)}, call.site, call.name, {"weights": True})


@function("torch.nn.Parameter", "torch.nn.parameter.Parameter")
def _parameter(call: Call) -> Value:
    m = call.m
    frozen = call.get("requires_grad", 1) is FALSE
    life = m.life("layer", call.node, library="torch", cls="Parameter", trainable=not frozen)
    if frozen:
        m.event(life, "frozen", call.node, partial=False)
    return Tensor(frozenset() if frozen else frozenset((life,)), through=frozenset((life,)), site=call.site)


@function("torch.distributed.fsdp.wrap.ModuleWrapPolicy")
def _wrap_policy(call: Call) -> Value:
    return Obj("wrap_policy", {"classes": call.get("module_classes", 0)}, call.site)


@function("torch.distributed.init_process_group")
def _process_group(call: Call) -> Value:
    if call.get("world_size", 3) != Const(1):
        call.m.distributed("processes", "the script joins a process group", call.node)
    return NONE


@function("torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.DataParallel", "torch.compile",
          "torch.distributed.fsdp.FullyShardedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel")  # fmt: skip
def _parallel(call: Call) -> Value:
    m = call.m
    value = call.get("module", 0)
    if value is ABSENT:
        value = call.get("model")
    leaf = call.name.rpartition(".")[2]
    moves = leaf in ("DataParallel", "FullyShardedDataParallel") or (
        leaf == "DistributedDataParallel" and call.get("device_ids", 1) not in (ABSENT, NONE)
    )
    if leaf in ("DistributedDataParallel", "FullyShardedDataParallel"):
        m.distributed("ddp" if leaf.startswith("Dist") else "fsdp", f"the model is wrapped by {leaf}", call.node)
    for model in m.models_in(value):
        m.event(model, "parallel", call.node, by=leaf, moves_inputs=moves, keywords=dict(call.kwargs), open=call.open)
    if leaf == "compile":
        return (
            m.each(value, lambda v: Model(v.life, v.peft, v.part, True) if isinstance(v, Model) else v) if value is not ABSENT else unknown("model")
        )
    return value if value is not ABSENT else unknown("model")


def weighed(m: Interpreter, made: Tensor, values: list[Value]) -> Tensor:
    """The result of an operation in which a weight of a module that came from outside takes part."""
    return m.weigh(made) if any(isinstance(v, Sym) and v.text.endswith(("weight", "weight.T", "weight.t(…)")) for v in values) else made


@function("torch.is_tensor")
def _is_tensor(call: Call) -> Value:
    value = call.args[0] if call.args else NONE
    if isinstance(value, Tensor):
        return FALSE if value.number else TRUE
    if isinstance(value, (Dict, Seq, Const, Inst)) or (isinstance(value, Obj) and value.kind == "encoding"):
        return FALSE
    return call.m.derive(("is_tensor", id(value.subject) if isinstance(value, Sym) else id(value)), "torch.is_tensor(…)")


@function("torch.utils._pytree.tree_map", "torch.utils._pytree.tree_map_only")
def _tree_map(call: Call) -> Value:
    return batch(call.m, SOMEWHERE, call.node)


@function("torch.cuda.LongTensor", "torch.cuda.IntTensor", "torch.cuda.HalfTensor")
def _cuda_tensor(call: Call) -> Value:
    return Tensor(device=Device("cuda", "cuda"), site=call.site)


@method("layer", "__call__")
def _call_layer(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    return apply_weights(call, [v.life for v in walk(owner) if isinstance(v, Model)], owner)


def apply_weights(call: Call, lives: list[ModelLife], owner: Value) -> Tensor:
    """The output of a layer, a module or a model over its inputs."""
    m = call.m
    made = m.combine(call.values(), call.node)
    mine = frozenset(lives)
    trainable = frozenset(x for x in mine if x.trainable)
    leaf = any(isinstance(v, Tensor) and v.forced is not None for x in call.values() for v in walk(x))
    out = m.result(Tensor(made.attached | trainable, made.cuts, made.device, made.opaque or leaf, through=made.through | mine, site=call.site))
    if not trainable or isinstance(owner, Model):
        return m.weigh(out)
    return out


@method("layer", "append", "extend", "insert", "add_module", "update")
def _layer_append(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    for v in call.values():
        call.m.store(owner.slots, len(owner.slots), v)
    return NONE


@attribute("layer", "weight", "bias", "in_features", "out_features", "*")
def _layer_attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    assert isinstance(owner, Obj)
    life = owner.slots.get("life")
    if name in ("weight", "bias") and isinstance(life, Model):
        return Tensor(frozenset((life.life,)), through=frozenset((life.life,)), site=m.site(node))
    if ("layer", name) in METHODS or ("model", name) in METHODS:
        return Bound(owner, name)
    return m.derive((".", id(owner), name), name)


# -------------------------------------------------------------------- parameters
@method("model", "parameters", "named_parameters", "buffers", "named_buffers")
def _parameters(call: Call) -> Value:
    assert call.owner is not None
    return parameters_of(call.m, call.owner, call.name.startswith("named"), call.node)


def parameters_of(m: Interpreter, owner: Value, named: bool, node: cst.CSTNode) -> Value:
    """What ``.parameters()`` and ``.named_parameters()`` give."""
    part = owner.part if isinstance(owner, Model) else ""
    lives = [x.life for x in m.models_in(owner)]
    return Obj(
        "params",
        {},
        m.site(node),
        info={"lives": lives, "named": named, "order": m.tick(), "part": part, "peft": isinstance(owner, Model) and owner.peft},
    )


def _param(m: Interpreter, params: Obj, node: cst.CSTNode) -> Value:
    param = Obj("param", {}, m.site(node), info={**params.info, "pc": m.pc, "origin": params.site})
    if not params.info["named"]:
        return param
    name = Sym(Subject("the parameter's name", declared=False))
    return Seq.of([name, param], "tuple")


@attribute("param", "requires_grad", "data", "grad", "dtype", "shape", "device", "ndim", "*")
def _param_attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    assert isinstance(owner, Obj)
    if name == "device":
        return device_object(m, Device("follows", "the model"), node)
    if ("param", name) in METHODS:
        return Bound(owner, name)
    return m.derive((".", id(owner), name), f"param.{name}", declared=False)


@method("param", "requires_grad_")
def _param_requires_grad(call: Call) -> Value:
    assert isinstance(call.owner, Obj)
    given = call.get("requires_grad", 0)
    set_requires_grad(call.m, call.owner, TRUE if given is ABSENT else given, call.node)
    return call.owner


@method("param", "*")
def _param_method(call: Call) -> Value:
    return unknown("number")


def set_requires_grad(m: Interpreter, param: Obj, value: Value, node: cst.CSTNode) -> None:
    """``param.requires_grad = value`` in a loop over parameters: of all of them, or of those that a test chooses."""
    before = m.pc
    base: tuple[object, ...] = param.info.get("pc", ())
    extra = [c for c in m.pc if c not in base]
    chosen = [c for c in extra if any(_about_parameters(x.subject.text) for x in c)]
    m.pc = tuple(c for c in m.pc if c not in chosen)
    partial = bool(chosen) or bool(param.info.get("part"))
    adapters = any("lora" in x.subject.text or "adapter" in x.subject.text for c in chosen for x in c)
    true, false = m.truth(value)
    for life in param.info["lives"]:
        if true == ALWAYS:
            m.event(life, "unfrozen", node, partial=partial, adapters=adapters, peft=param.info.get("peft"))
        elif false == ALWAYS:
            m.event(life, "frozen", node, partial=partial, origin=param.info.get("origin"))
        elif any(_about_parameters(x.subject.text) for c in true for x in c):
            m.event(life, "frozen", node, partial=True)
            m.event(life, "unfrozen", node, partial=True, adapters=True)
        else:
            m.event(life, "frozen", node, when=false, partial=partial, origin=param.info.get("origin"))
            m.event(life, "unfrozen", node, when=true, partial=partial, adapters=adapters)
    m.pc = before


def _about_parameters(text: str) -> bool:
    return "name" in text or "param" in text or "lora" in text or text.startswith(("tensor.", "p.")) or " in " in text or "len(" in text


def part_of(value: Value) -> Value:
    """Parameters picked by position: a part of the model."""
    if isinstance(value, Obj) and value.kind == "param":
        return Obj("param", value.slots, value.site, value.name, {**value.info, "part": "slice"})
    if isinstance(value, Seq) and value.rest is None:
        return Seq.of([part_of(v) for v in value.items], value.kind)
    return value


# -------------------------------------------------------------------- optimizers
@function("torch.optim.*", "torch.optim.optimizer.*")
def _optimizer(call: Call) -> Value:
    leaf = call.name.rpartition(".")[2]
    if ".lr_scheduler" in call.name or not leaf[:1].isupper():
        return Obj("scheduler", {}, call.site)
    return make_optimizer(call)


def holds_parameters(call: Call) -> bool:
    """Whether a call of an unknown class is given parameters first, as optimizers are."""
    given = call.get("params", 0)
    if call.name.rpartition(".")[2].startswith(("clip", "sum", "count", "freeze", "print", "EMA", "tuple", "get_", "set_", "log")):
        return False
    held = given.elements() if isinstance(given, Seq) else [given]
    leaf = call.name.rpartition(".")[2]
    return any(isinstance(v, Obj) and v.kind in ("params", "param") for h in held for v in walk(h)) and (
        leaf[:1].isupper() or not leaf or "opt" in leaf.lower()
    )


def make_optimizer(call: Call) -> Value:
    """Build an optimizer over the parameters among the arguments."""
    m = call.m
    given = call.get("params", 0)
    lives: dict[int, tuple[Condition, ModelLife]] = {}
    order = m.tick()
    for condition, chosen in options(given):
        for v in walk(chosen):
            if isinstance(v, Obj) and v.kind in ("params", "param"):
                order = min(order, v.info["order"])
                for life in v.info["lives"]:
                    lives[life.number] = condition, life
    cls = call.name.rpartition(".")[2]
    made = OptimizerLife(call.site, m.pc, order, tuple(life for _, life in lives.values()), cls)
    if lives:
        m.recipe.optimizers.append(made)
        for condition, life in lives.values():
            m.event(life, "optimized", call.node, when=condition, optimizer=made)
    return Obj("optimizer", {}, call.site, cls, {"life": made})


@method("optimizer", "*")
def _optimizer_method(call: Call) -> Value:
    return NONE


@method("optimizer", "add_param_group")
def _add_param_group(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    for one in owner.info["life"].lives:
        call.m.event(one, "param_group_added", call.node, optimizer=owner.info["life"])
    return NONE


@attribute("optimizer", "param_groups", "state", "*")
def _optimizer_attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    if name in ("step", "zero_grad", "state_dict", "load_state_dict", "add_param_group", "train", "eval"):
        return Bound(owner, name)
    return m.derive((".", id(owner), name), f"optimizer.{name}")


@function("torch.cuda.amp.GradScaler", "torch.amp.GradScaler", "torch.GradScaler")
def _scaler(call: Call) -> Value:
    return Obj("scaler", {"enabled": call.get("enabled")}, call.site)


@method("scaler", "scale")
def _scale(call: Call) -> Value:
    return call.args[0] if call.args else NONE


@method("scaler", "step", "unscale_")
def _unscale(call: Call) -> Value:
    """Both divide the gradients of the optimizer's weights by the scale."""
    owner = call.owner
    assert isinstance(owner, Obj)
    enabled = owner.slots["enabled"]
    for condition, optimizer in options(call.get("optimizer", 0)):
        if isinstance(optimizer, Obj) and optimizer.kind == "optimizer":
            for life in optimizer.info["life"].lives:
                call.m.event(life, "unscaled", call.node, when=condition, by="GradScaler", enabled=enabled)
    return NONE


@method("scaler", "*")
def _scaler_method(call: Call) -> Value:
    return NONE


@function("torch.autograd.backward")
def _autograd_backward(call: Call) -> Value:
    return backward(call.m, call.get("tensors", 0), call.node, "torch.autograd.backward()")


# -------------------------------------------------------------------- files of weights
@function("torch.load", "safetensors.torch.load_file")
def _read(call: Call) -> Value:
    """What a file holds is not known; that it came from this file is remembered."""
    from lora_lint import libraries

    value = libraries.default_call(call.name, call)
    if isinstance(value, Sym):
        node = call.nodes.get("f") or call.nodes.get("filename") or call.nodes.get(0)
        path = call.get("f" if "f" in call.kwargs else "filename", 0)
        call.m.recipe.read[id(value.subject)] = FileRead(path, call.m.text(node.value) if node is not None else "", call.site)
    return value


@function("torch.save", "safetensors.torch.save_file")
def _written(call: Call) -> Value:
    state, path = call.args[0] if call.args else call.get("obj"), call.get("f" if "f" in call.kwargs else "filename", 1)
    if isinstance(state, Obj) and state.kind == "state_dict" and "life" in state.info:
        call.m.recipe.written.append(FileWritten(path, state.info["life"], state.info["adapters"], call.site))
    return NONE


# -------------------------------------------------------------------- data
@function("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
def _loader(call: Call) -> Value:
    return Obj(
        "loader",
        {"dataset": call.get("dataset", 0), "collate": call.get("collate_fn", 6)},
        call.site,
        info={"open": call.open, "prepared": False},
    )


@function("torch.utils.data.*")
def _dataset(call: Call) -> Value:
    leaf = call.name.rpartition(".")[2]
    if leaf == "TensorDataset":
        return Obj("tensor_dataset", dict(enumerate(call.args)), call.site)
    if leaf == "random_split":
        whole = call.args[0] if call.args else unknown("dataset")
        return Seq.of([], "list", whole)
    return unknown(leaf)


def batch(m: Interpreter, device: Device, node: cst.CSTNode) -> Obj:
    """A batch of tensors under names that we do not know."""
    return Obj("encoding", {"": Tensor(device=device, site=m.site(node))}, m.site(node))


def collated(m: Interpreter, value: Value, device: Device, node: cst.CSTNode) -> Value:
    """What torch's default collate function makes of one dataset item."""
    if isinstance(value, Dict):
        return Dict({k: collated(m, v, device, node) for k, v in value.slots.items() if v is not ABSENT})
    if isinstance(value, Seq):
        return Seq.of([collated(m, v, device, node) for v in value.items], value.kind, value.rest and collated(m, value.rest, device, node))
    if isinstance(value, Tensor):
        return value if value.device.kind != "unknown" else Tensor(device=device, site=value.site)
    if isinstance(value, Const) and isinstance(value.value, str):
        return unknown("texts")
    if isinstance(value, Obj) and value.kind == "encoding":
        return value
    return Tensor(device=device, site=m.site(node))


def element(m: Interpreter, holder: Value, node: cst.CSTNode) -> Value:
    """One element of an iterable library object."""
    if isinstance(holder, Model):
        return Model(holder.life, holder.peft, holder.part + "[]")
    if not isinstance(holder, Obj):
        return unknown("element")
    if holder.kind == "params":
        return _param(m, holder, node)
    if holder.kind == "param":
        return holder
    if holder.kind == "generator":
        return holder.slots["element"]
    if holder.kind == "loader":
        return loader_element(m, holder, node)
    if holder.kind == "modules":
        part = Model(holder.info["life"], holder.info["peft"], "module")
        return Seq.of([Sym(Subject("the module's name", declared=False)), part], "tuple") if holder.info["named"] else part
    if holder.kind == "layer":
        return next((v for v in holder.slots.values() if not isinstance(v, Model)), unknown("layer"))
    if holder.kind == "encoding":
        return unknown("key")
    if holder.kind == "tensor_dataset":
        return Seq.of(list(holder.slots.values()), "tuple")
    return unknown("element")


def loader_element(m: Interpreter, holder: Obj, node: cst.CSTNode) -> Value:
    """One batch of a data loader."""
    if holder.info.get("prepared"):
        return batch(m, Device("follows", "accelerator"), node)
    cached = holder.slots.get("element")
    if cached is not None and cached is not ABSENT:
        return cached
    collate, dataset = holder.slots["collate"], holder.slots["dataset"]
    made: Value
    if holder.info["open"] and collate is ABSENT:
        made = batch(m, SOMEWHERE, node)
    elif isinstance(collate, (Func, Method, Inst, Obj)) and not (isinstance(collate, Obj) and collate.kind == "collator"):
        from lora_lint.recipe.interpreter import Call as NewCall

        call = NewCall(m, node, "collate_fn")
        call.args = [Seq.of([], "list", _item(m, dataset, node))]
        made = m.call(collate, call)
        if isinstance(made, Sym):
            made = batch(m, SOMEWHERE, node)
    elif isinstance(collate, Obj):
        made = batch(m, CPU, node)
    elif isinstance(collate, Ref):
        made = batch(m, CPU if collate.root in ("transformers", "torch") else SOMEWHERE, node)
    elif collate is ABSENT or collate is NONE:
        made = _default_batch(m, dataset, node)
    else:
        made = batch(m, SOMEWHERE, node)
    return made


def _item(m: Interpreter, dataset: Value, node: cst.CSTNode) -> Value:
    if isinstance(dataset, (Inst, Seq)) or (isinstance(dataset, Obj) and dataset.kind in ("tensor_dataset", "generator")):
        return m.element(dataset, node)
    return unknown("row")


def _default_batch(m: Interpreter, dataset: Value, node: cst.CSTNode) -> Value:
    if isinstance(dataset, (Inst, Seq)) or (isinstance(dataset, Obj) and dataset.kind in ("tensor_dataset", "generator")):
        return collated(m, m.element(dataset, node), CPU, node)
    where = SOMEWHERE if isinstance(dataset, Obj) and dataset.info.get("device") else CPU
    return batch(m, where, node)


@method("encoding", "to", "cuda", "cpu")
def _encoding_to(call: Call) -> Value:
    """BatchEncoding.to moves in place and returns itself."""
    owner = call.owner
    assert isinstance(owner, Obj)
    device = moved_to(call)
    if device is not None:
        for key, held in list(owner.slots.items()):
            if isinstance(held, Tensor):
                call.m.store(owner.slots, key, Tensor(held.attached, held.cuts, device, held.opaque, site=held.site, tokens=held.tokens))
        whole = owner.slots.get("")
        call.m.store(owner.slots, "", Tensor(device=device, site=call.site, tokens=whole.tokens if isinstance(whole, Tensor) else None))
    return owner


def entry_of(m: Interpreter, holder: Obj) -> Value:
    """A value that stands for every entry of a batch."""
    del m
    held = [v for v in holder.slots.values() if isinstance(v, Tensor)]
    return holder.slots.get("", held[0] if held else Tensor())


@method("encoding", "items", "keys", "values", "pop", "get", "copy", "update", "setdefault", "data")
def _encoding_items(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    whole = entry_of(call.m, owner)
    if call.name == "items":
        return Seq.of([], "list", Seq.of([unknown("key"), whole], "tuple"))
    if call.name == "values":
        return Seq.of([], "list", whole)
    if call.name in ("pop", "get") and call.args:
        return subscript(call.m, owner, call.args[0], call.node)
    if call.name == "update":
        call.m.store(owner.slots, "?", NONE)  # entries that we do not know of
        moved = next((v for x in call.values() for v in walk(x) if isinstance(v, Tensor)), None)
        if moved is not None:
            set_item(call.m, owner, unknown("key"), moved, call.node)
        return NONE
    return owner if call.name in ("copy", "data") else unknown("key")


@attribute("encoding", "*")
def _encoding_attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    assert isinstance(owner, Obj)
    if ("encoding", name) in METHODS:
        return Bound(owner, name)
    return subscript(m, owner, Const(name), node)


def subscript(m: Interpreter, holder: Value, key: Value, node: cst.CSTNode) -> Value:
    """``holder[key]``."""
    if isinstance(holder, Model):
        return Model(holder.life, holder.peft, holder.part + "[]")
    if not isinstance(holder, Obj):
        return unknown("element")
    if holder.kind == "encoding":
        held = holder.slots.get(key.value) if isinstance(key, Const) else None
        return held if held is not None and held is not ABSENT else entry_of(m, holder)
    if holder.kind == "namespace":
        from lora_lint.libraries import python

        return python.option(m, holder, str(key.value)) if isinstance(key, Const) else unknown("option")
    if holder.kind in ("layer", "tensor_dataset", "generator", "params"):
        if isinstance(key, Const) and key.value in holder.slots:
            return holder.slots[key.value]
        return element(m, holder, node)
    if holder.kind == "dataset":
        return holder
    return unknown("element")


def set_item(m: Interpreter, holder: Obj, key: Value, value: Value, node: cst.CSTNode) -> None:
    """``holder[key] = value``."""
    k = key.value if isinstance(key, Const) else "?"
    if holder.kind == "encoding":
        value = next((v for v in walk(value) if isinstance(v, Tensor)), value)
        if not isinstance(key, Const) and isinstance(value, Tensor):
            for known in list(holder.slots):  # a loop over the keys
                m.store(holder.slots, known, value)
            return
    m.store(holder.slots, k, value)


# -------------------------------------------------------------------- attributes that scripts set
def set_attribute(m: Interpreter, owner: Value, name: str, value: Value, node: cst.CSTNode) -> bool:
    """Assign to an attribute of a tensor, a parameter or a model."""
    if isinstance(owner, Tensor):
        if name == "requires_grad" and value is TRUE:
            if owner.attached and not owner.cuts and len(owner.through) == 1 and next(iter(owner.through)).cls == "Parameter":
                return True
            force(m, owner, node)
        elif name == "requires_grad":
            for life in owner.through:
                if life.cls != "Tensor" and life.kind == "layer":
                    m.event(life, "frozen", node, partial=False)
                    life.trainable = False
        return True
    if isinstance(owner, Obj):
        if owner.kind == "param" and name == "requires_grad":
            set_requires_grad(m, owner, value, node)
            return True
        if owner.kind == "param" and name == "data":
            for life in owner.info["lives"]:
                m.event(life, "weights_set", node, by="data")
            return True
        return False
    if isinstance(owner, Model):
        if name == "state_dict" and not owner.part:
            m.event(owner, "state_dict_replaced", node, value=value)
        elif name == "requires_grad":
            m.event(owner, "frozen" if value is FALSE else "unfrozen", node, partial=True)
        elif name in ("is_parallelizable", "model_parallel", "is_model_parallel", "use_cache", "hf_device_map", "training"):
            pass
        elif isinstance(value, (Inst, Obj, Model)) or (isinstance(value, Tensor) and value.through):
            inner = m.models_in(value)
            m.event(owner, "surgery", node, lives=[x.life for x in inner if x.life is not owner.life], part=name)
        return True
    return False


# -------------------------------------------------------------------- module forwards as entry points
def entry_hook(m: Interpreter, func: Func, owner: Inst | None, call: Call) -> Callable[[Value], None] | None:
    """``forward`` of a module that nothing calls: its input may come from trainable parts below."""
    if owner is None or func.name != "forward" or not is_module(owner.cls):
        return None
    names = [n for n, _ in m.parameters(func)[1:]]
    data = any(word in n.lower() for n in names[:1] for word in DATA_NAMES)
    marker = m.life("input", func.node, library="torch", cls=owner.cls.name)
    for i, name in enumerate(names):
        if i == 0 or name in ("hidden_states", "x", "hidden", "inputs_embeds"):
            call.kwargs[name] = Tensor(frozenset() if data else frozenset((marker,)), through=frozenset((marker,)), site=m.site(func.node))

    def returned(value: Value) -> None:
        if data:
            return
        outputs = _outputs(value)
        if any(m.frozen_path in v.attached for _, v in outputs):
            return  # the frozen branch is there with its gradient too
        for condition, v in outputs:
            _branches(m, v, marker, owner, condition)

    return returned


def _outputs(value: Value) -> list[tuple[Condition, Tensor]]:
    found: list[tuple[Condition, Tensor]] = []
    for condition, v in options(value):
        if isinstance(v, Tensor):
            found.append((condition, v))
        elif isinstance(v, Seq):
            found.extend((both(condition, c), x) for item in v.items for c, x in options(item) if isinstance(x, Tensor))
    return found


def _branches(m: Interpreter, output: Tensor, marker: ModelLife, owner: Inst, condition: Condition) -> None:
    """Record frozen branches that the module's output joins with trainable ones on the same input."""
    own = [x for x in output.attached if x is not marker and x.trainable]
    if marker not in output.attached or not own or marker in m.entered:
        return  # no trainable branch, or the input is what a whole model takes
    for cut in output.cuts:
        if marker in cut.lost and cut.kind in ("no_grad", "inference_mode", "detach", "data") and m.weighed(cut):
            m.recipe.branches.append(Branch(cut.site, cut.kind, owner.cls.name, both(m.pc, condition), output.site))


@method("scheduler", "*")
def _scheduler_method(call: Call) -> Value:
    return NONE


recorded("backwards", "backward", "manual_backward")
recorded("trained", "backward", "manual_backward")
recorded("grad_mode", "no_grad", "inference_mode", "set_grad_enabled")
recorded("frozen", "requires_grad", "requires_grad_")
recorded("forced", "requires_grad", "requires_grad_", "Variable")
recorded("optimized", "optim", "optimizer*", "Optim*", "Adam*", "SGD", "Lion*", "Adafactor")
recorded("cast", "half", "float", "bfloat16", "double")
recorded("moved", "to", "cuda", "cpu")
recorded("state_dict_replaced", "state_dict")
recorded_in("branches", "forward", DATA_NAMES, "no_grad", "inference_mode", "set_grad_enabled", "detach", "data")
