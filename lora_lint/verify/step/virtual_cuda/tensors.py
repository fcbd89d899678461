"""What tensors, storages, ``torch.device`` and the functions that make tensors say and take as devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.utils._device

from ..patches import Patches
from .tags import CPU, REAL_DEVICE, device_of, place, placed, raw_device, same_storage, tensors_in

_OF_DATA = ("tensor", "as_tensor", "asarray")
_MORE_FACTORIES = ("normal", "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like")
_NEW = ("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided")
_LEGACY_NEW = ("new_tensor", "new")


def install(patches: Patches) -> None:
    """Replace them all."""
    _install_device(patches)
    _install_properties(patches)
    _install_moves(patches)
    _install_storages(patches)
    constructors = {function.__name__ for function in torch.utils._device._device_constructors()}
    for name in (*sorted(constructors), *_MORE_FACTORIES):
        if hasattr(torch, name):
            patches.wrap(torch, name, lambda original, name=name: _factory(original, name))  # type: ignore[misc]
    _install_default(patches)
    for name in ("fftfreq", "rfftfreq"):
        patches.wrap(torch.fft, name, lambda original: _factory(original, ""))
    for name in _NEW:
        patches.wrap(torch.Tensor, name, lambda original: _factory(original, ""))
    for name in _LEGACY_NEW:
        patches.wrap(torch.Tensor, name, _new)


class _DeviceType(type):
    """Makes a class that passes for the type ``torch.device``, which cannot be subclassed."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if len(given) == 1 and isinstance(given[0], int) and not isinstance(given[0], bool):
            return REAL_DEVICE("cuda", given[0])
        return REAL_DEVICE(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, REAL_DEVICE)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or subclass is REAL_DEVICE

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is REAL_DEVICE

    def __hash__(cls) -> int:
        return hash(REAL_DEVICE)


def _install_device(patches: Patches) -> None:
    """``torch.device(0)`` is the first accelerator; a build without CUDA has none."""
    patches.set(torch, "device", _DeviceType("device", (), {"__module__": "torch", "__qualname__": "device", "__doc__": REAL_DEVICE.__doc__}))
    parse = torch._C._nn._parse_to

    def parse_to(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], torch.Tensor):
            return (device_of(args[0]), *parse(*args, **kwargs)[1:])
        if args and isinstance(args[0], int) and not isinstance(args[0], bool):
            args = (placed(args[0]), *args[1:])
        if isinstance(kwargs.get("device"), int):
            kwargs["device"] = placed(kwargs["device"])
        return parse(*args, **kwargs)

    patches.set(torch._C._nn, "_parse_to", parse_to)


def _install_properties(patches: Patches) -> None:
    tensor = torch.Tensor
    patches.set(tensor, "device", property(device_of))
    patches.set(tensor, "is_cuda", property(lambda self: device_of(self).type == "cuda"))
    patches.set(tensor, "is_cpu", property(lambda self: device_of(self).type == "cpu"))
    patches.set(tensor, "get_device", lambda self: device_of(self).index if device_of(self).type == "cuda" else -1)
    patches.wrap(tensor, "numpy", _numpy)
    patches.wrap(tensor, "type", _type)
    patches.set(tensor, "record_stream", lambda self, stream: None)
    patches.set(tensor, "is_pinned", lambda self, device=None: bool(getattr(self.untyped_storage(), "_virtually_pinned", False)))
    patches.set(tensor, "pin_memory", _pin)


def _numpy(original: Callable[..., Any]) -> Callable[..., Any]:
    def numpy(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        device = device_of(self)
        if device.type == "cuda":
            text = f"can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
            raise TypeError(text)
        return original(self, *args, **kwargs)

    return numpy


def _type(original: Callable[..., Any]) -> Callable[..., Any]:
    def type_(self: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if dtype is None:
            name = original(self)
            return name.replace("torch.", "torch.cuda.", 1) if device_of(self).type == "cuda" else name
        if isinstance(dtype, str):
            there = placed("cuda") if dtype.startswith("torch.cuda.") else CPU
            return original(self.to(there), dtype.replace("torch.cuda.", "torch.", 1), *args, **kwargs)
        return original(self, dtype, *args, **kwargs)

    return type_


def _pin(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    if device_of(self).type == "cuda":
        text = f"cannot pin '{self.type()}' only dense CPU tensors can be pinned"
        raise RuntimeError(text)
    pinned = self.clone()
    pinned.untyped_storage()._virtually_pinned = True
    return pinned


def _install_moves(patches: Patches) -> None:
    parse = torch._C._nn._parse_to
    raw_to = torch.Tensor.to

    def to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if len(args) == 1 and not kwargs and isinstance(args[0], torch.dtype):
            return raw_to(self, args[0])
        copy = kwargs.pop("copy", False)
        if "other" in kwargs:
            args = (kwargs.pop("other"), *args)
        if args and len(args) > 2 and isinstance(args[-1], bool) and isinstance(args[-2], bool):  # to(device, dtype, non_blocking, copy)
            args, copy = args[:-1], args[-1]
        dtype = args[0].dtype if args and isinstance(args[0], torch.Tensor) else None
        try:
            device, parsed, _, layout = parse(*args, **kwargs)
        except TypeError:  # more than this knows: complex numbers as a module's dtype, say
            return raw_to(self, *args, copy=copy, **kwargs)
        options: dict[str, Any] = {"copy": True} if copy else {}
        if (dtype or parsed) is not None:
            options["dtype"] = dtype or parsed
        if layout is not None:
            options["memory_format"] = layout
        return _move(raw_to, self, None if device is None else placed(device), options)

    def cuda(self: torch.Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> torch.Tensor:
        target = placed("cuda" if device is None else device)
        if target is None or target.type != "cuda":
            text = f"Invalid device, must be cuda device, but got {device}"
            raise RuntimeError(text)
        return _move(raw_to, self, target, {} if memory_format is None else {"memory_format": memory_format})

    def cpu(self: torch.Tensor, memory_format: Any = None) -> torch.Tensor:
        return _move(raw_to, self, CPU, {} if memory_format is None else {"memory_format": memory_format})

    for name, function in (("to", to), ("cuda", cuda), ("cpu", cpu)):
        patches.wrap(torch.Tensor, name, lambda original, function=function: function)  # type: ignore[misc]


def _move(raw_to: Callable[..., Any], tensor: torch.Tensor, device: Any, options: dict[str, Any]) -> torch.Tensor:
    here = device_of(tensor)
    if device is None or device == here:
        return raw_to(tensor, **options) if options else tensor
    if here.type not in ("cpu", "cuda") or device.type not in ("cpu", "cuda"):
        moved: torch.Tensor = raw_to(tensor, CPU if device.type == "cuda" else device, **options)
        if device.type == "cuda":
            place(moved, device)
        return moved
    moved = raw_to(tensor, CPU, **{**options, "copy": True})
    place(moved, device)
    if moved.grad_fn is not None:
        moved.grad_fn.register_hook(lambda grads, _: tuple(_carried(grad, here) for grad in grads))
    return moved


def _carried(grad: Any, device: torch.device) -> Any:
    """A gradient, brought back to where the tensor came from."""
    if grad is None or device_of(grad) == device:
        return grad
    moved = grad.clone()
    place(moved, device)
    return moved


def _install_storages(patches: Patches) -> None:
    storage = torch.UntypedStorage

    def clone(original: Callable[..., Any]) -> Callable[..., Any]:
        def cloned(self: Any) -> Any:
            copy = original(self)
            if getattr(self, "_virtual_device", None) is not None:
                copy._virtual_device = self._virtual_device
            return copy

        return cloned

    def moved(self: Any, device: Any) -> Any:
        copy = type(self)(self.nbytes()).copy_(self)
        copy._virtual_device = device
        return copy

    patches.wrap(storage, "clone", clone)
    patches.set(storage, "cuda", lambda self, device=None, non_blocking=False: moved(self, placed("cuda" if device is None else device)))
    patches.set(storage, "cpu", lambda self: moved(self, None) if getattr(self, "_virtual_device", None) else self)


def _factory(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function that makes a tensor on ``device=``."""

    def make(*args: Any, **kwargs: Any) -> Any:
        like = args[0] if args and isinstance(args[0], torch.Tensor) else None
        device = kwargs.get("device")
        if device is not None:
            wanted = placed(device)
        elif like is not None and name != "normal":
            wanted = device_of(like)
            if name not in _OF_DATA:
                return original(*args, **kwargs)
        else:
            wanted = _default_device()
        pinned = kwargs.pop("pin_memory", False)
        if wanted is None or wanted.type not in ("cpu", "cuda") or kwargs.get("out") is not None:
            return original(*args, **kwargs)
        if device is not None or wanted.type == "cuda":
            kwargs["device"] = CPU
        _check_generator(kwargs.get("generator"), wanted)
        made = original(*args, **kwargs)
        if not isinstance(made, torch.Tensor):
            return made
        if like is not None and device_of(like) != wanted and same_storage(like, made):
            made = made.clone()
        if not (isinstance(like, torch.Tensor) and same_storage(like, made)):
            place(made, wanted)
        if pinned:
            made.untyped_storage()._virtually_pinned = True
        return made

    return make


def _new(original: Callable[..., Any]) -> Callable[..., Any]:
    """``x.new_tensor(...)`` and the old ``x.new(...)``: made beside x."""

    def new(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        wanted = placed(kwargs["device"]) if kwargs.get("device") is not None else device_of(self)
        if raw_device(self).type != "cpu" or wanted is None or wanted.type not in ("cpu", "cuda"):
            return original(self, *args, **kwargs)
        if "device" in kwargs:
            kwargs["device"] = CPU
        made = original(self, *args, **kwargs)
        if not any(same_storage(made, given) for given in tensors_in(args)):
            place(made, wanted)
        return made

    return new


def _default_device() -> Any:
    """Of the innermost ``with torch.device(...)`` or ``torch.set_default_device``, in this thread."""
    for number in reversed(range(torch._C._len_torch_function_stack())):
        mode = torch._C._get_function_stack_at(number)
        if isinstance(mode, torch.utils._device.DeviceContext):
            return placed(mode.device)
    return CPU


def _install_default(patches: Patches) -> None:
    """``torch.set_default_device`` and ``with torch.device("cuda"):``. The replacements above ask for the default themselves."""
    context = torch.utils._device.DeviceContext

    def pass_on(original: Callable[..., Any]) -> Callable[..., Any]:
        def function(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **kwargs or {}) if self.device.type == "cuda" else original(self, func, types, args, kwargs)

        return function

    patches.wrap(context, "__torch_function__", pass_on)


def _check_generator(generator: Any, wanted: torch.device) -> None:
    if generator is not None and generator.device.type != wanted.type:
        text = f"Expected a '{wanted.type}' device type for generator but found '{generator.device.type}'"
        raise RuntimeError(text)
