"""On which virtual device a tensor lies: a tag on its storage, which views, detached tensors and ``.data`` share."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

CPU = torch.device("cpu")
_MANY = 20_000  # tags; beyond, those of storages that are gone are dropped
_real_device = torch.Tensor.device.__get__
_tags: dict[int, tuple[StorageWeakRef, torch.device]] = {}
_lock = threading.Lock()


class State(threading.local):
    """What holds in a thread: the current device, the default one, the device of the function that is running, and whether nothing is compared."""

    current = 0
    default: torch.device | None = None
    ambient: torch.device | None = None
    unchecked = 0


state = State()


def real_device(tensor: torch.Tensor) -> torch.device:
    """Where the tensor really is."""
    with torch._C.DisableTorchFunction():
        return _real_device(tensor)


def _storage(tensor: torch.Tensor) -> Any:
    """The storage that carries the tag; ``None`` for tensors that have none, or are not on the CPU."""
    if _real_device(tensor).type != "cpu" or tensor.layout is not torch.strided:
        return None
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None


def device_of(tensor: torch.Tensor) -> torch.device:
    """The device that the tensor is said to be on."""
    with torch._C.DisableTorchFunction():
        storage = _storage(tensor)
        found = _tags.get(storage._cdata) if storage is not None else None
        return found[1] if found else _real_device(tensor)


def put(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Say that a tensor, and all that shares its storage, is on a device."""
    with torch._C.DisableTorchFunction():
        storage = _storage(tensor)
        if storage is None:
            return tensor
        if device.type != "cuda":
            _tags.pop(storage._cdata, None)
            return tensor
        if len(_tags) > _MANY:
            with _lock:
                for key in [key for key, (reference, _) in list(_tags.items()) if reference.expired()]:
                    _tags.pop(key, None)
        _tags[storage._cdata] = (StorageWeakRef(storage), device)
    return tensor


def same_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors share a storage."""
    with torch._C.DisableTorchFunction():
        one, other = _storage(a), _storage(b)
        return one is not None and other is not None and one._cdata == other._cdata


def device(given: Any) -> torch.device | None:
    """A device as Python code writes it, CUDA with an index; ``None`` for what is no device."""
    if isinstance(given, bool):
        return None
    if isinstance(given, int):
        return torch.device("cuda", given)
    if isinstance(given, str):
        given = torch.device(given)
    if not isinstance(given, torch.device):
        return None
    return torch.device("cuda", state.current) if given.type == "cuda" and given.index is None else given


def tensors(*values: Any) -> Iterator[torch.Tensor]:
    """The tensors in arguments or results, also in lists and dicts."""
    for leaf in tree_leaves(values):
        if isinstance(leaf, torch.Tensor):
            yield leaf


def cuda_among(values: Iterable[torch.Tensor]) -> torch.device | None:
    """The first CUDA device among those of tensors."""
    return next((found for found in map(device_of, values) if found.type == "cuda"), None)
