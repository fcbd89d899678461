"""Operators that CUDA has and the CPU lacks, computed by what the CPU has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .tags import tensors_in

_NARROW = (torch.float16, torch.bfloat16)
_WHOLE = (torch.int32, torch.int64)
_Types = tuple[torch.dtype, ...]
_COUNTING = "histc"  # of whole numbers, on CUDA only


def run(operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The operator's result. Raises what it raises when there is no other way."""
    try:
        return operator(*args, **kwargs)
    except (NotImplementedError, RuntimeError) as error:
        text = str(error)
        if "not implemented for '" in text and ("Half'" in text or "BFloat16'" in text):
            wider = _in_float(operator, args, kwargs, _NARROW, torch.float32)
        elif "not implemented for '" in text and operator._schema.name.endswith(_COUNTING):
            wider = _in_float(operator, args, kwargs, _WHOLE, torch.float64)
        elif isinstance(error, NotImplementedError) and operator._overloadname in ("dtype", "dtype_out"):
            wider = _with_output_type(operator, args, kwargs)
        else:
            raise
        if wider is None:
            raise
        return wider[0]


def _in_float(operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], types: _Types, wide: torch.dtype) -> tuple[Any] | None:
    """In a type that the CPU can, rounded; None for an operator that writes to its operands."""
    if any(argument.alias_info is not None for argument in operator._schema.arguments):
        return None
    own = next((tensor.dtype for value in (*args, *kwargs.values()) for tensor in tensors_in(value) if tensor.dtype in types), None)
    if own is None:
        return None
    result = operator(*(_cast(value, types, wide) for value in args), **{name: _cast(value, types, wide) for name, value in kwargs.items()})
    return (_cast(result, (wide,), own),)


def _with_output_type(operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any] | None:
    """Products of matrices with ``out_dtype``."""
    position = next((number for number, value in enumerate(args) if isinstance(value, torch.dtype)), None)
    if position is None:
        return None
    wide = args[position]
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    operands = [_cast(value, _NARROW, wide) for number, value in enumerate(args) if number != position]
    result = operator.overloadpacket.default(*operands, **rest)
    return (kwargs["out"].copy_(result),) if "out" in kwargs else (result,)


def _cast(value: Any, types: _Types, dtype: torch.dtype) -> Any:
    """Tensors, lists of them, and arguments that are one of these types, in another."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype in types else value
    if isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value):
        return type(value)(_cast(item, types, dtype) for item in value)
    return dtype if isinstance(value, torch.dtype) and value in types else value
