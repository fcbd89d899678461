"""Which virtual device a tensor lies on: a mark on its storage, so that views, ``.data`` and saved tensors keep it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import torch

CPU = torch.device("cpu")
REAL_DEVICE = torch.device
"""The type itself, whatever ``torch.device`` is replaced by."""
ANYWHERE = object()
"""Mark of what a library's C++ code made by itself: it follows the first tensor that it meets."""
_MARK = "_virtual_device"
_MISSING_ORDINAL = (
    "CUDA error: invalid device ordinal\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1"
)
_raw_device = torch._C.TensorBase.device.__get__
_storage = torch._C.TensorBase.untyped_storage


class Devices(threading.local):
    """The virtual devices, and the current one of each thread."""

    count = 1
    current = 0

    def named(self, index: int) -> torch.device:
        """``cuda:index``, one object for each index. Raises what CUDA raises when there is no such device."""
        if not 0 <= index < Devices.count:
            raise getattr(torch, "AcceleratorError", RuntimeError)(_MISSING_ORDINAL)
        while len(_named) <= index:
            _named.append(REAL_DEVICE("cuda", len(_named)))
        return _named[index]


_named: list[torch.device] = []
devices = Devices()


def placed(device: Any) -> Any:
    """A device, its name or its number as a ``torch.device``, with an index where it is cuda; None for anything else."""
    if isinstance(device, bool):
        return None
    if isinstance(device, int):
        return devices.named(device)
    if isinstance(device, str):
        device = REAL_DEVICE(device)
    if not isinstance(device, REAL_DEVICE):
        return None
    if device.type != "cuda":
        return device
    return devices.named(devices.current if device.index is None else device.index)


def raw_device(tensor: torch.Tensor) -> torch.device:
    """Where the numbers really are: the CPU, or ``meta``."""
    return _raw_device(tensor)


def mark_of(tensor: torch.Tensor) -> Any:
    """A cuda device, ANYWHERE, or None for the CPU and for all that is never moved."""
    try:
        return getattr(_storage(tensor), _MARK, None)
    except (NotImplementedError, RuntimeError):  # sparse, or wrapped by a function transform
        inner = _unwrapped(tensor)
        return ANYWHERE if inner is tensor else mark_of(inner)


def mark(tensor: torch.Tensor, value: Any) -> None:
    """Write a mark over the one that is there; None is the CPU's."""
    try:
        storage = _storage(tensor)
    except (NotImplementedError, RuntimeError):
        inner = _unwrapped(tensor)
        if inner is not tensor:
            mark(inner, value)
        return
    if value is not None or hasattr(storage, _MARK):
        setattr(storage, _MARK, value)


def device_of(tensor: torch.Tensor) -> torch.device:
    """The device that the tensor says it is on."""
    raw = _raw_device(tensor)
    if raw.type != "cpu":
        return raw
    value = mark_of(tensor)
    return CPU if value is None or value is ANYWHERE else value


def place(tensor: torch.Tensor, device: torch.device) -> None:
    """Say that a tensor is on a device; nothing for one without numbers."""
    if _raw_device(tensor).type == "cpu":
        mark(tensor, device if device.type == "cuda" else None)


def same_storage(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors share their numbers."""
    try:
        return bool(_storage(one)._cdata == _storage(other)._cdata)
    except (NotImplementedError, RuntimeError):
        return False


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of a value as operators take and give them: one, or lists of them."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def _unwrapped(tensor: torch.Tensor) -> torch.Tensor:
    functorch = getattr(torch._C, "_functorch", None)
    if functorch is not None and functorch.is_functorch_wrapped_tensor(tensor):
        return functorch.get_unwrapped(tensor)
    return tensor
