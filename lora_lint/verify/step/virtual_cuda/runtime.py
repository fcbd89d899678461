"""What else of torch and its libraries asks for the device: autocast, generators, files, optimizers, several devices, caches."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.parallel.comm

from ..patches import Patches
from .tags import CPU, device_of, devices, placed

_PRIORITY = 5  # before torch's own ways to write down and find a storage's device
_CACHING = ("transformers.utils.import_utils", "transformers.utils.generic", "accelerate.utils.imports", "peft.import_utils", "trl.import_utils")
_REBOUND = ("transformers", "accelerate", "peft", "trl", "bitsandbytes", "datasets", "safetensors")


def install(patches: Patches) -> Callable[[], None]:
    """Replace them; returns what undoes what ``patches`` cannot."""
    undone = [_install_files(), _install_scripting()]
    _install_autocast(patches)
    _install_generator(patches)
    _install_grouping(patches)
    _install_parallel(patches)
    _forget_answers()

    def undo() -> None:
        for step in undone:
            step()
        _forget_answers()

    return undo


def _install_files() -> Callable[[], None]:
    """``torch.save`` writes the virtual device, ``torch.load`` gives it back, and ``map_location`` works as ever."""
    registry = torch.serialization._package_registry
    before = list(registry)

    def tag(storage: Any) -> str | None:
        device = getattr(storage, "_virtual_device", None)
        return str(device) if isinstance(device, type(CPU)) else None

    def restore(storage: Any, location: str) -> Any:
        if not location.startswith("cuda"):
            return None
        device = placed(location)
        inner = getattr(storage, "_untyped_storage", storage)
        inner._virtual_device = device
        return storage

    torch.serialization.register_package(_PRIORITY, tag, restore)

    def undo() -> None:
        registry[:] = before

    return undo


def _install_scripting() -> Callable[[], None]:
    """Functions that are compiled cannot be made of Python replacements; they run as Python instead."""
    from torch.jit import _state

    if not _state._enabled.enabled:
        return lambda: None
    _state.disable()

    def undo() -> None:
        _state.enable()

    return undo


def _install_autocast(patches: Patches) -> None:
    """``autocast("cuda")`` switches the CPU's on as well, for that is what computes."""

    def switch(original: Callable[..., Any]) -> Callable[..., Any]:
        def set_(*args: Any) -> Any:
            device, value = args if len(args) == 2 else ("cuda", args[0])
            original(*args)
            if device == "cuda":
                with contextlib.suppress(TypeError):
                    return original("cpu", value)
                torch.set_autocast_cpu_enabled(value)
            return None

        return set_

    patches.wrap(torch, "set_autocast_enabled", switch)
    for name in ("set_autocast_dtype", "set_autocast_gpu_dtype"):
        if not hasattr(torch, name):
            continue

        def narrow(original: Callable[..., Any]) -> Callable[..., Any]:
            def set_(*args: Any) -> None:
                original(*args)
                if len(args) == 2 and args[0] == "cuda":
                    original("cpu", args[1])
                elif len(args) == 1:
                    torch.set_autocast_cpu_dtype(args[0])

            return set_

        patches.wrap(torch, name, narrow)


class _GeneratorType(type(torch.Generator)):  # type: ignore[misc]
    """``isinstance(x, torch.Generator)`` holds for real ones."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _REAL_GENERATOR)


_REAL_GENERATOR = torch.Generator


class _Generator(torch.Generator, metaclass=_GeneratorType):
    """Random numbers for a virtual device; they are the CPU's."""

    def __new__(cls, device: Any = "cpu") -> Any:
        made = super().__new__(cls, device="cpu")
        made._virtual_device = placed(device)
        return made

    def __init__(self, device: Any = "cpu") -> None:
        pass

    @property
    def device(self) -> Any:
        """Where it says it is."""
        return self._virtual_device


def _install_generator(patches: Patches) -> None:
    patches.set(torch, "Generator", _Generator)
    if not getattr(torch.cuda, "default_generators", ()):
        patches.set(torch.cuda, "default_generators", tuple(_Generator(device) for device in range(type(devices).count)))


def _install_grouping(patches: Patches) -> None:
    """Optimizers treat the tensors of one device together."""

    def by_device(original: Callable[..., Any]) -> Callable[..., Any]:
        def group(lists: Any, with_indices: bool = False) -> Any:
            found: dict[Any, Any] = {}
            for (device, dtype), (columns, indices) in original(lists, True).items():
                for row, number in enumerate(indices):
                    first = columns[0][row]
                    key = (device if first is None else device_of(first), dtype)
                    if key not in found:
                        found[key] = ([[] for _ in columns], [])
                    for column, into in zip(columns, found[key][0]):
                        if column:
                            into.append(column[row])
                    found[key][1].append(number)
            return found if with_indices else {key: (columns, []) for key, (columns, _) in found.items()}

        return group

    patches.wrap(torch._C, "_group_tensors_by_device_and_dtype", by_device)


def _install_parallel(patches: Patches) -> None:
    """What ``nn.DataParallel`` does across devices."""

    def on(index: int) -> Any:
        return CPU if index < 0 else placed(index)

    def scatter(tensor: torch.Tensor, indices: Any, sizes: Any = None, dim: int = 0, streams: Any = None) -> Any:
        parts = tensor.split(list(sizes), dim) if sizes else tensor.chunk(len(indices), dim)
        return tuple(part.to(on(index)) for index, part in zip(indices, parts))

    def broadcast(tensor: torch.Tensor, indices: Any) -> list[torch.Tensor]:
        return [tensor.to(on(index)) for index in indices]

    def broadcast_all(tensors: Iterable[torch.Tensor], indices: Any, buffer_size: int = 0) -> list[list[torch.Tensor]]:
        tensors = list(tensors)
        return [[tensor.to(on(index)) for tensor in tensors] for index in indices]

    def gather(tensors: Iterable[torch.Tensor], dim: int, index: Any = None) -> torch.Tensor:
        target = placed("cuda") if index is None else on(index)
        return torch.cat([tensor.to(target) for tensor in tensors], dim)

    def reduce_add(tensors: Iterable[torch.Tensor], destination: Any = None) -> torch.Tensor:
        target = placed("cuda" if destination is None else destination)
        return torch.stack([tensor.to(target) for tensor in tensors]).sum(0)

    def reduce_all(lists: Iterable[Iterable[torch.Tensor]], destination: Any = None, buffer_size: int = 0) -> Any:
        return tuple(reduce_add(tensors, destination) for tensors in zip(*lists))

    patches.set(torch.nn.parallel.comm, "reduce_add", reduce_add)
    patches.set(torch.nn.parallel.comm, "reduce_add_coalesced", reduce_all)
    for name, function in (("_scatter", scatter), ("_broadcast", broadcast), ("_broadcast_coalesced", broadcast_all), ("_gather", gather)):
        patches.set(torch._C, name, function)


def _forget_answers() -> None:
    """Libraries remember whether there is CUDA; let them ask again."""
    for name in _CACHING:
        if name in sys.modules:
            for value in list(vars(sys.modules[name]).values()):
                with contextlib.suppress(Exception):
                    value.cache_clear()


def rebind(patches: Patches, before: dict[Any, dict[str, Any]]) -> None:
    """Give libraries the replacements of what they took from torch's modules by name; ``before`` is how these were."""
    replaced: dict[int, Any] = {}
    for owner, names in before.items():
        for name, value in names.items():
            new = vars(owner).get(name)
            if new is not value and callable(value):
                replaced[id(value)] = new
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _REBOUND and isinstance(module, types.ModuleType):
            for attribute, value in list(vars(module).items()):
                if id(value) in replaced:
                    patches.set(module, attribute, replaced[id(value)])
