"""Every operator's operands must be on one device, as on CUDA; the results are on it too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .kernels import run
from .tags import ANYWHERE, CPU, device_of, mark, mark_of, raw_device, tensors_in

Operands = list["tuple[str, torch.Tensor, Any]"]
"""Argument name, tensor, mark."""

_INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"}
# What CUDA does across devices, or what says nothing about devices.
_ACROSS = {"copy_", "copy", "_copy_from", "_copy_from_and_resize", "_to_copy", "set_", "resize_", "is_same_size", "_pin_memory"}
# Kernels that take no CPU tensor, not even one without dimensions.
_NO_SCALARS = {"cat", "stack", "embedding", "index_select", "mm", "addmm", "bmm", "baddbmm", "nll_loss_forward", "gather", "native_layer_norm"}
_STRUCTURED = {"cat", "mm", "addmm", "bmm", "baddbmm", "nll_loss_forward", "gather"}  # no overload in the name of their wrapper
_WRAPPERS = {"embedding": ("_index_select", {"indices": "index", "weight": "self"}), "stack": ("cat", {})}
_graph_task: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", lambda: -1)
_NEW_TEXT = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) >= (2, 8)


class Rule:
    """How one operator treats devices."""

    __slots__ = ("across", "indexing", "listed", "name", "names", "pointwise", "scalars", "written")

    def __init__(self, operator: Any) -> None:
        schema = getattr(operator, "_schema", None)
        self.name = str(schema.name).rpartition("::")[2] if schema else ""
        arguments = schema.arguments if schema else ()
        self.names = [argument.name for argument in arguments]
        self.written = {argument.name for argument in arguments if argument.alias_info is not None and argument.alias_info.is_write}
        self.pointwise = bool(schema) and torch.Tag.pointwise in operator.tags
        self.listed = self.name.startswith(("_foreach_", "_fused_", "_amp_foreach_"))
        self.across = not schema or self.listed or self.name in _ACROSS
        self.indexing = self.name in _INDEXING
        self.scalars = self.name not in _NO_SCALARS


class Mixing(TorchDispatchMode):
    """Carries the marks from operands to results and raises where CUDA would."""

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch._dynamo is imported, which takes longer than a step

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        tensors = []
        for value in (*args, *kwargs.values()) if kwargs else args:
            if isinstance(value, torch.Tensor):
                tensors.append(value)
            elif isinstance(value, (list, tuple)):
                tensors += [item for item in value if isinstance(item, torch.Tensor)]
        home: Any = None
        on_cpu = loose = mixed = False
        for tensor in tensors:
            value = mark_of(tensor)
            if value is None:
                on_cpu = True
            elif value is ANYWHERE:
                loose = True
            elif home is None:
                home = value
            elif home is not value:
                mixed = True
        if home is None:
            result = func(*args, **kwargs)
            if not tensors:
                _mark_new(result, ANYWHERE, tensors)
            elif loose:
                _settle(result, tensors)
            return result
        if not on_cpu and not mixed and not loose:
            result = run(func, args, kwargs)
            for tensor in (result,) if isinstance(result, torch.Tensor) else tensors_in(result):
                if mark_of(tensor) is None:
                    mark(tensor, home)
            return result
        return _run_mixed(func, args, kwargs, tensors, home)


def _run_mixed(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], tensors: list[torch.Tensor], home: Any) -> Any:
    """An operator over marks that differ: allowed, or the error."""
    rule = _rules.get(func)
    if rule is None:
        rule = _rules[func] = Rule(func)
    operands = _operands(rule, args, kwargs)
    if rule.indexing:
        home = _indexed(operands, home)
        operands = [operand for operand in operands if operand[0] != "indices"]
    if not rule.across and _graph_task() == -1:
        _check(rule, operands)
    result = run(func, args, kwargs)
    if rule.listed:
        firsts = list(tensors_in(args[0]))
        for tensor, first in zip(tensors_in(result), firsts):
            _mark_new(tensor, mark_of(first), tensors)
        return result
    if rule.name in ("copy_", "set_", "resize_"):
        if mark_of(tensors[0]) is ANYWHERE:
            mark(tensors[0], home)
        return result
    if home is not None:
        for tensor in tensors:
            if mark_of(tensor) is ANYWHERE:
                mark(tensor, home)
        _mark_new(result, home, tensors)
    return result


def _settle(result: Any, tensors: list[torch.Tensor]) -> None:
    """What C++ code made met only the CPU's tensors, and is on the CPU; or others of its kind, or a number, and is still anywhere."""
    if any(tensor.dim() and mark_of(tensor) is None for tensor in tensors):
        for tensor in tensors:
            if mark_of(tensor) is ANYWHERE:
                mark(tensor, None)
    else:
        _mark_new(result, ANYWHERE, tensors)


def _operands(rule: Rule, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Operands:
    named = [*zip(rule.names, args), *kwargs.items()] if rule.names else [("", value) for value in (*args, *kwargs.values())]
    return [(name, tensor, mark_of(tensor)) for name, value in named for tensor in tensors_in(value)]


def _indexed(operands: Operands, home: Any) -> Any:
    """Where the result of an indexing goes: where the indexed tensor is. Indices may be on the CPU."""
    where = operands[0][2]
    if where is ANYWHERE:
        return home
    for name, _, value in operands[1:]:
        if name == "indices" and value not in (None, ANYWHERE) and value is not where and _graph_task() == -1:
            text = f"indices should be either on cpu or on the same device as the indexed tensor ({where or CPU})"
            raise RuntimeError(text)
    return where


def _check(rule: Rule, operands: Operands) -> None:
    if any(raw_device(tensor).type != "cpu" for _, tensor, _ in operands):
        return  # without numbers: the operator itself says what it thinks
    first: Any = ANYWHERE
    for name, tensor, value in operands:
        if value is ANYWHERE or (value is None and rule.scalars and tensor.dim() == 0 and name not in rule.written):
            continue
        if first is ANYWHERE:
            first = value
        elif first is not value:
            raise RuntimeError(_text(rule, operands, name, first or CPU, value or CPU))


def _text(rule: Rule, operands: Operands, name: str, first: torch.device, other: torch.device) -> str:
    """What CUDA says."""
    if "convolution" in rule.name and len(operands) > 1:
        data, weight = (operand[1].type() for operand in operands[:2])
        return f"Input type ({data}) and weight type ({weight}) should be the same"
    if rule.pointwise:
        return f"Expected all tensors to be on the same device, but found at least two devices, {first} and {other}!"
    method, names = _WRAPPERS.get(rule.name, (rule.name if rule.name in _STRUCTURED else f"_{rule.name}", {}))
    name, method = names.get(name, name), f"wrapper_CUDA_{method}"
    if _NEW_TEXT:
        return (
            f"Expected all tensors to be on the same device, but got {name} is on {other}, different from other tensors on {first} "
            f"(when checking argument in method {method})"
        )
    return (
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and {other}! "
        f"(when checking argument for argument {name} in method {method})"
    )


def _mark_new(result: Any, value: Any, inputs: list[torch.Tensor]) -> None:
    """Mark the results that are not among the inputs."""
    known = {id(tensor) for tensor in inputs}
    for tensor in tensors_in(result):
        if id(tensor) not in known and mark_of(tensor) is None and device_of(tensor).type == "cpu":
            mark(tensor, value)


_rules: dict[Any, Rule] = {}
