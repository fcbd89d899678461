"""Library summaries: one file a library, each declaring what that library's calls do to abstract values.

This module is the interpreter's door to them. A new library is a new file beside this one, named in ``LIBRARIES``.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from lora_lint.libraries import registry
from lora_lint.recipe.values import (
    ABSENT,
    Bound,
    Cls,
    Const,
    Dict,
    Func,
    Inst,
    Model,
    Obj,
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

# Functions that only tell, save or count, by the names that people give them.
SPEAKING = re.compile(
    r"(print|log|show|count|dump|report|display|describe|save|summar|info|debug|warn|num_|get_num)|.*(state_dict|num_params|parameter_count)$"
)
# Loss functions that a script gets from somewhere: they have no parameters of their own.
LOSSES = re.compile(r"(criterion|loss_?(fn|fct|func|function)|^loss)$", re.I)
LIBRARIES = (
    "python",
    "torch",
    "transformers",
    "peft",
    "bitsandbytes",
    "accelerate",
    "trl",
    "unsloth",
    "lightning",
    "diffusers",
    "deepspeed",
)
for _name in LIBRARIES:
    importlib.import_module(f"lora_lint.libraries.{_name}")

from lora_lint.libraries import lightning, python, tokenizers, torch, transformers  # noqa: E402
from lora_lint.libraries.torch import combine_unknown  # noqa: E402


def known_root(root: str) -> bool:
    """Whether a top-level package is a library that we have summaries for, so that no project module is meant."""
    return root in LIBRARIES or root in registry.PATTERNS or root in registry.HARMLESS


def triggers() -> frozenset[bytes]:
    """Words of which a file must contain one to concern us: the libraries with summaries."""
    return frozenset(name.encode() for name in LIBRARIES if name != "python")


# -------------------------------------------------------------------- calls
def call(name: str, call: Call) -> Value:
    """Call a library function or class by its full name."""
    handler = registry.lookup(name)
    if handler is not None:
        call.name = name
        return handler(call)
    return default_call(name, call)


def default_call(name: str, call: Call) -> Value:
    """A library function without a summary: models that it gets have escaped, unless it is known to leave them alone."""
    m = call.m
    values = call.values()
    root = name.partition(".")[0]
    if torch.holds_parameters(call):
        return torch.make_optimizer(call)
    if root in ("torch", "math") and any(isinstance(v, Tensor) for x in values for v in walk(x)):
        return m.combine(values, call.node)
    if not registry.is_harmless(name):
        escape(call)
    tensor = combine_unknown(call, values)
    if tensor is not None:
        return tensor
    if all(isinstance(v, Const) for v in values) and not call.open:
        return m.derive((name, *values, *sorted(call.kwargs)), f"{name}(…)" if values else f"{name}()")
    return unknown(f"{name}(…)", tensor=not registry.is_harmless(name))


def escape(call: Call) -> None:
    """Record that the models among the arguments went to code that we cannot see."""
    m = call.m
    if SPEAKING.match(call.name.rpartition(".")[2]):
        return
    for value in call.values():
        tokenizers.escaped(m, value)
        m.recipe.handed.extend(v for _, v in options(value) if isinstance(v, Dict) or (isinstance(v, Obj) and v.kind == "encoding"))
        for model in m.models_in(value):
            m.event(model, "escaped", call.node, to=call.name)


def unknown_call(call: Call) -> Value:
    """A call of something that we cannot see."""
    escape(call)
    return combine_unknown(call, call.values()) or unknown(f"{call.name}(…)" if call.name else "call", tensor=True)


def symbol_call(callee: Sym, call: Call) -> Value:
    """A call of an unknown value: a parameter, something from a module that is not there, an attribute of either."""
    m = call.m
    call.name = call.name or callee.text
    name = callee.text.rpartition(".")[2]
    if name in ("backward", "manual_backward") and call.args and any(isinstance(v, Tensor) for _, v in options(call.args[0])):
        return torch.backward(m, call.args[0], call.node, f"{callee.text}()")
    if name in ("detach", "item", "tolist", "numpy") and not call.args and not call.kwargs:
        return torch.tensor_method_on_unknown(callee, name, call)
    special = python.symbol_method(callee, name, call)
    if special is not None:
        return special
    values = call.values()
    if torch.holds_parameters(call):
        return torch.make_optimizer(call)
    plain = all(isinstance(v, Const) for v in values)
    if plain and not call.open and not m.modes:
        return m.derive(("call", id(callee.subject), tuple(values)), f"{callee.text}({'…' if values else ''})")
    escape(call)
    tensor = combine_unknown(call, values)
    if tensor is not None and LOSSES.search(name):
        return m.combine(values, call.node)
    if tensor is not None:
        return m.weigh(tensor)
    return torch.symbol_result(callee, call)


def method(owner: Value, name: str, call: Call) -> Value:
    """Call a method of a library object, a model or a tensor."""
    m = call.m
    call.owner = owner
    kind = kind_of(owner)
    if isinstance(owner, Obj) and owner.kind == "super":
        return super_method(owner, name, call)
    handler = registry.METHODS.get((kind, name)) or registry.METHODS.get((kind, "*"))
    if handler is not None:
        call.name = name
        return handler(call)
    if isinstance(owner, (Seq, Dict, Const)):
        return python.container_method(owner, name, call)
    if isinstance(owner, (Inst, Cls)):
        return transformers.instance_method(owner, name, call)
    escape(call)
    tensor = combine_unknown(call, call.values())
    return tensor or m.derive(("call", id(owner), name, tuple(v for v in call.values() if isinstance(v, Const))), f".{name}(…)")


def kind_of(value: Value) -> str:
    """The kind under which a value's methods are registered."""
    if isinstance(value, Obj):
        return value.kind
    if isinstance(value, Model):
        return "model"
    if isinstance(value, Tensor):
        return "tensor"
    return type(value).__name__.lower()


def class_of(value: Value) -> str:
    """The full name of the library class that an object is of, as far as it is known; empty if it is not."""
    if isinstance(value, Model) and not value.part:
        return "peft.PeftModel" if value.peft else "transformers.PreTrainedModel" if value.life.library == "transformers" else ""
    if isinstance(value, Obj) and value.kind == "super":
        return value.slots["class"].library_base() if isinstance(value.slots["class"], Cls) else ""
    return value.name if isinstance(value, Obj) and "." in value.name else ""


def super_method(owner: Obj, name: str, call: Call) -> Value:
    """``super().name(…)``: a base class of the project, else the library base's summary."""
    cls, receiver = owner.slots["class"], owner.slots["self"]
    if isinstance(cls, Cls):
        bases = [c for c in cls.mro() if c is not cls]
        found = next((c.slots[name] for c in bases if name in c.slots), None)
        if isinstance(found, Func):
            return call.m.invoke(found, call, receiver)
    if isinstance(receiver, Inst):
        return transformers.base_method(receiver, name, call)
    return unknown_call(call)


# -------------------------------------------------------------------- attributes, entries, elements
def attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    """An attribute of a library object, a model or a tensor."""
    kind = kind_of(owner)
    handler = registry.ATTRIBUTES.get((kind, name)) or registry.ATTRIBUTES.get((kind, "*"))
    if isinstance(owner, Obj):
        held = owner.slots.get(name)
        if held is not None and held is not ABSENT and (kind, name) not in registry.METHODS:
            return held
    if handler is not None and (kind, name) not in registry.METHODS:
        return handler(m, owner, name, node)
    return Bound(owner, name)


def instance_attribute(m: Interpreter, owner: Inst, name: str, node: cst.CSTNode) -> Value:
    """An attribute of a project object that neither it nor its classes define: it comes from a library base."""
    return transformers.inherited_attribute(m, owner, name, node)


def set_attribute(m: Interpreter, owner: Value, name: str, value: Value, node: cst.CSTNode) -> bool:
    """Assign to an attribute of a library object; true where that is all there is to it."""
    if isinstance(owner, Obj) and owner.kind == "tokenizer":
        tokenizers.set_attribute(m, owner, name, value, node)
        return True
    return torch.set_attribute(m, owner, name, value, node)


def subscript(m: Interpreter, holder: Value, key: Value, node: cst.CSTNode) -> Value:
    """``holder[key]`` for a library object or a model."""
    return torch.subscript(m, holder, key, node)


def set_item(m: Interpreter, holder: Obj | Tensor, key: Value, value: Value, node: cst.CSTNode) -> None:
    """``holder[key] = value`` for a library object or a tensor."""
    if isinstance(holder, Tensor):
        tokenizers.written(m, holder, key, value, node)
        return
    torch.set_item(m, holder, key, value, node)


def environment(m: Interpreter, name: str, node: cst.CSTNode) -> Value:
    """``os.environ[name]``."""
    return python.environment(m, name, node)


def set_environment(m: Interpreter, holder: Ref, key: Const) -> None:
    """``os.environ[key] = …``."""
    python.set_environment(m, holder, key)


def entry_of(m: Interpreter, holder: Obj) -> Value:
    """A value that stands for every entry of a batch."""
    return torch.entry_of(m, holder)


def element(m: Interpreter, holder: Value, node: cst.CSTNode) -> Value:
    """One element that stands for all of an iterable library object."""
    return torch.element(m, holder, node)


def enter(m: Interpreter, value: Obj, item: cst.WithItem) -> Callable[[], None] | None:
    """Enter a context manager; returns what to do when it is left."""
    return torch.enter(m, value, item)


def decorator_mode(value: Value) -> str:
    """The grad mode that a decorator sets, or an empty string."""
    return torch.decorator_mode(value)


# -------------------------------------------------------------------- classes of the project
def instantiate(m: Interpreter, cls: Cls, call: Call) -> Value | None:
    """Make an object of a project class that a library base decides about, or ``None``."""
    return transformers.instantiate(m, cls, call)


def field_default(m: Interpreter, default: Value, call: Call) -> Value:
    """The value of a dataclass field from its declared default."""
    return python.field_default(m, default)


def entry_hook(m: Interpreter, func: Func, owner: Inst | None, call: Call) -> Callable[[Value], None] | None:
    """Prepare the abstract arguments of an entry point that a library calls; returns what its return value means."""
    return transformers.entry_hook(m, func, owner, call) or lightning.entry_hook(m, func, owner, call) or torch.entry_hook(m, func, owner, call)
