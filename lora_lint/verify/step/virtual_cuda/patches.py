"""What goes past the modes: loading, autocast, generators, optimizers, DataParallel, and the default device."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch
from torch.optim import Optimizer

from .functions import move
from .tags import CPU, device, put, state, tensors


def install() -> None:
    """Put the patches in place."""
    _loading()
    _autocast()
    _generators()
    _optimizers()
    _data_parallel()
    _default_device()


def _loading() -> None:
    load = torch.load

    @functools.wraps(load)
    def load_on(f: Any, map_location: Any = None, *rest: Any, **more: Any) -> Any:
        wanted = device(map_location)
        out = load(f, "cpu" if wanted is not None and wanted.type == "cuda" else map_location, *rest, **more)
        if wanted is not None and wanted.type == "cuda":
            for tensor in tensors(out):
                put(tensor, wanted)
        return out

    torch.load = load_on
    safetensors = sys.modules.get("safetensors.torch")
    if safetensors is None:
        return
    load_file = safetensors.load_file

    @functools.wraps(load_file)
    def load_file_on(filename: Any, device: Any = "cpu", **more: Any) -> Any:
        return _placed(load_file, filename, device, more)

    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is load_file:
                setattr(module, name, load_file_on)


def _placed(load_file: Any, filename: Any, where: Any, more: Any) -> Any:
    wanted = device(where)
    if wanted is None or wanted.type != "cuda":
        return load_file(filename, device=where, **more)
    return {name: put(tensor, wanted) for name, tensor in load_file(filename, device="cpu", **more).items()}


def _autocast() -> None:
    """Autocast of CUDA is that of the CPU, with CUDA's default type."""
    kind = torch.amp.autocast_mode.autocast
    begin = kind.__init__

    def __init__(self: Any, device_type: str, dtype: Any = None, *rest: Any, **more: Any) -> None:  # noqa: N807 - it is one
        if torch.device(device_type).type == "cuda":
            device_type, dtype = "cpu", dtype or torch.float16
        begin(self, device_type, dtype, *rest, **more)

    kind.__init__ = __init__
    for name in ("is_autocast_enabled", "get_autocast_dtype"):
        ask = getattr(torch, name)
        setattr(torch, name, functools.partial(_of_cpu, ask))


def _of_cpu(ask: Any, kind: Any = "cpu") -> Any:
    return ask("cpu" if kind == "cuda" else kind)


def _generators() -> None:
    class Generator(torch.Generator):
        """A generator of any device, which makes the numbers of the CPU's."""

        def __new__(cls, device: Any = "cpu") -> Any:
            return super().__new__(cls, device="cpu")

    torch.Generator = Generator


def _optimizers() -> None:
    """Nothing is compared inside of ``step``: states and steps may be elsewhere, as the optimizer knows."""
    wrap = Optimizer.profile_hook_step

    def profile_hook_step(func: Any) -> Any:
        inner = wrap(func)

        @functools.wraps(func)
        def step(*args: Any, **kwargs: Any) -> Any:
            state.unchecked += 1
            try:
                return inner(*args, **kwargs)
            finally:
                state.unchecked -= 1

        step.hooked = True  # type: ignore[attr-defined]
        return step

    Optimizer.profile_hook_step = staticmethod(profile_hook_step)


def _data_parallel() -> None:
    """All rows go to the first device; what several would add is only speed."""

    def forward(self: Any, *inputs: Any, **more: Any) -> Any:
        first = device(self.device_ids[0] if self.device_ids else "cuda")
        assert first is not None
        return self.module(*_moved(inputs, first), **_moved(more, first))

    torch.nn.DataParallel.forward = forward


def _moved(value: Any, where: torch.device) -> Any:
    if isinstance(value, torch.Tensor):
        return move(value, where)
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(one, where) for one in value)
    return {name: _moved(one, where) for name, one in value.items()} if isinstance(value, dict) else value


def _default_device() -> None:
    def set_default_device(wanted: Any) -> None:
        found = device(wanted) if wanted is not None else None
        state.default = found if found is not None and found.type == "cuda" else None

    def get_default_device() -> torch.device:
        return state.default or CPU

    torch.set_default_device = set_default_device
    torch.get_default_device = get_default_device
