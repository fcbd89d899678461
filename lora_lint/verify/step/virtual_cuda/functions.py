"""The mode on the level of Python functions: device arguments become tags, and questions for a device are answered from them."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from .tags import CPU, cuda_among, device, device_of, put, real_device, same_storage, state, tensors

_CONSTRUCTORS = _device_constructors()
_DEVICE = torch.Tensor.device.__get__
_FLAGS = {
    torch.Tensor.is_cuda.__get__: "cuda",
    torch.Tensor.is_cpu.__get__: "cpu",
}


class Functions(TorchFunctionMode):
    """Sees each call of a function of torch, also of properties and methods of tensors."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func == _DEVICE:
            return device_of(args[0])
        if func in _FLAGS:
            return device_of(args[0]).type == _FLAGS[func]
        special = _SPECIAL.get(func)
        if special is not None:
            return special(self, func, args, kwargs)
        if kwargs.get("device") is None and state.default is not None and func in _CONSTRUCTORS:
            kwargs["device"] = state.default
        if kwargs.get("device") is not None:
            return _made(func, args, kwargs)
        return _on_device_of_its_tensors(func, args, kwargs)


def _made(func: Any, args: Any, kwargs: Any) -> Any:
    """A function that is told on which device its result shall be."""
    wanted = device(kwargs["device"])
    if wanted is None or wanted.type not in ("cpu", "cuda"):
        return func(*args, **kwargs)
    kwargs["device"] = CPU
    before = state.ambient
    state.ambient = wanted
    try:
        out = func(*args, **kwargs)
    finally:
        state.ambient = before
    given = list(tensors(args))
    for tensor in tensors(out):
        if device_of(tensor) != wanted:
            if any(same_storage(tensor, one) for one in given):
                return put(torch.Tensor.clone(tensor), wanted) if tensor is out else out
            put(tensor, wanted)
    return out


def _on_device_of_its_tensors(func: Any, args: Any, kwargs: Any) -> Any:
    """A function that is not: what it makes inside, without saying where, is where its arguments are."""
    found = cuda_among(tensors(args, kwargs)) if isinstance(args, tuple) else None
    if found is None:
        return func(*args, **kwargs)
    before = state.ambient
    state.ambient = found
    try:
        return func(*args, **kwargs)
    finally:
        state.ambient = before


def move(tensor: torch.Tensor, wanted: torch.device, **how: Any) -> torch.Tensor:
    """``Tensor.to`` a device: the tensor itself where it is there already, else a copy."""
    if device_of(tensor) == wanted and not how.get("copy"):
        return torch.Tensor.to(tensor, **how) if how else tensor
    if real_device(tensor).type != "cpu":  # meta has nothing to copy, and says so itself
        return torch.Tensor.to(tensor, device=CPU if wanted.type == "cuda" else wanted, **how)
    return put(torch.Tensor.to(tensor, device=CPU, **{**how, "copy": True}), wanted)


def _to(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    where, how = kwargs.pop("device", None), kwargs
    how.pop("non_blocking", None)
    rest = list(args[1:])
    if "other" in how:
        rest.insert(0, how.pop("other"))
    flags = []
    for one in rest:
        if isinstance(one, torch.Tensor):
            where, how["dtype"] = device_of(one), one.dtype
        elif isinstance(one, torch.dtype):
            how["dtype"] = one
        elif isinstance(one, bool):
            flags.append(one)
        elif one is not None:
            where = one
    if len(flags) > 1:  # non_blocking, copy
        how["copy"] = flags[1]
    how = {name: value for name, value in how.items() if value is not None and value is not False}
    wanted = device(where) if where is not None else None
    if wanted is not None and wanted.type in ("cpu", "cuda"):
        return move(args[0], wanted, **how)
    if wanted is not None:
        how["device"] = wanted
    return func(args[0], **how) if how else args[0]


def _cuda(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    where = args[1] if len(args) > 1 else kwargs.get("device")
    wanted = device("cuda" if where is None else where)
    assert wanted is not None
    return move(args[0], wanted)


def _cpu(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    return move(args[0], CPU)


def _device(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    return device(args[0]) if args and isinstance(args[0], int) and not isinstance(args[0], bool) else func(*args, **kwargs)


def _parse_to(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    """What ``Module.to`` makes of its arguments."""

    def named(value: Any) -> Any:
        return device(value) if isinstance(value, int) and not isinstance(value, bool) else value

    like = next((one for one in args if isinstance(one, torch.Tensor)), kwargs.get("tensor"))
    if "device" in kwargs:
        kwargs["device"] = named(kwargs["device"])
    out = func(*map(named, args), **kwargs)
    return (device_of(like), *out[1:]) if isinstance(like, torch.Tensor) else out


def _get_device(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    found = device_of(args[0])
    return found.index if found.type == "cuda" else -1


def _numpy(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    found = device_of(args[0])
    if found.type == "cuda" and not kwargs.get("force"):
        raise TypeError(f"can't convert {found} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
    return func(*args, **kwargs)


def _same(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    return args[0]


def _like_first(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    """Copies that go past the operations, and are where the original is."""
    wanted: torch.device | None = device(kwargs.pop("device")) if kwargs.get("device") is not None else device_of(args[0])
    out = func(*args, **kwargs)
    return put(out, wanted) if isinstance(out, torch.Tensor) and wanted is not None else out


def _as_tensor(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    data = args[0] if args else kwargs.get("data")
    if not isinstance(data, torch.Tensor):
        return _made(func, args, kwargs) if kwargs.get("device") is not None else func(*args, **kwargs)
    dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
    wanted = device(args[2] if len(args) > 2 else kwargs.get("device"))
    how = {"dtype": dtype} if dtype is not None else {}
    return move(data, wanted or device_of(data), **how)


def _backward(mode: Functions, func: Any, args: Any, kwargs: Any) -> Any:
    """The mode stays on: checkpointing runs forwards in there."""
    names = ("gradient", "retain_graph", "create_graph", "inputs")
    given = {**dict(zip(names, args[1:])), **kwargs}
    with mode:
        torch.autograd.backward(args[0], given.pop("gradient", None), **{**given, "create_graph": bool(given.get("create_graph"))})


_SPECIAL: dict[Any, Any] = {
    torch.device: _device,
    torch._C._nn._parse_to: _parse_to,
    torch.Tensor.to: _to,
    torch.Tensor.cuda: _cuda,
    torch.Tensor.cpu: _cpu,
    torch.Tensor.get_device: _get_device,
    torch.Tensor.numpy: _numpy,
    torch.Tensor.__array__: _numpy,
    torch.Tensor.pin_memory: _same,
    torch.Tensor.__deepcopy__: _like_first,
    torch.Tensor.new_tensor: _like_first,
    torch.as_tensor: _as_tensor,
    torch.Tensor.backward: _backward,
}
