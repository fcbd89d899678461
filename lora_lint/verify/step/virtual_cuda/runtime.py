"""What ``torch.cuda`` and ``torch.accelerator`` say of the virtual devices."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from .tags import device, state

_MEMORY = 80 << 30  # bytes of a device
_NAME = "Virtual CUDA"


class Properties:
    """The properties of a device: those of an A100, in name and number."""

    name, major, minor, total_memory, multi_processor_count = _NAME, 8, 0, _MEMORY, 108
    gcnArchName = ""  # noqa: N815 - torch's name
    warp_size, regs_per_multiprocessor, max_threads_per_multi_processor, L2_cache_size = 32, 65536, 2048, 40 << 20
    uuid, is_integrated, is_multi_gpu_board = "00000000-0000-0000-0000-000000000000", 0, 0


class Nothing:
    """A stream, an event, a graph: everything has happened already."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: {"elapsed_time": 0.0, "query": True, "is_capturing": False}.get(name)

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


class Chosen:
    """``with torch.cuda.device(1):``"""

    def __init__(self, wanted: Any = None) -> None:
        self._wanted = wanted
        self._before = 0

    def __enter__(self) -> Chosen:
        self._before = state.current
        if self._wanted is not None:
            set_device(self._wanted)
        return self

    def __exit__(self, *_: Any) -> None:
        state.current = self._before


def set_device(wanted: Any) -> None:
    """Change what ``cuda`` without a number means."""
    found = device(wanted)
    if found is not None and found.type == "cuda" and found.index is not None and found.index >= 0:
        state.current = found.index


def _value(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def install(devices: int) -> None:
    """Replace what asks the driver."""
    checked = _checked(devices)
    answers: dict[str, Any] = {
        "is_available": _value(True),
        "is_initialized": _value(True),
        "init": _value(None),
        "_lazy_init": _value(None),
        "device_count": _value(devices),
        "current_device": lambda: state.current,
        "set_device": checked(set_device),
        "device": Chosen,
        "device_of": Nothing,
        "get_device_name": _value(_NAME),
        "get_device_capability": _value((8, 0)),
        "get_device_properties": checked(lambda *_: Properties),
        "get_arch_list": _value(["sm_80"]),
        "is_current_stream_capturing": _value(False),
        "is_bf16_supported": _value(True),
        "is_tf32_supported": _value(True),
        "can_device_access_peer": _value(True),
        "mem_get_info": checked(lambda *_: (_MEMORY, _MEMORY)),
        "memory_stats": _value({}),
        "memory_summary": _value(""),
        "empty_cache": _value(None),
        "ipc_collect": _value(None),
        "synchronize": _value(None),
        "reset_peak_memory_stats": _value(None),
        "reset_max_memory_allocated": _value(None),
        "set_per_process_memory_fraction": _value(None),
        "manual_seed": _value(None),
        "manual_seed_all": _value(None),
        "seed": _value(None),
        "seed_all": _value(None),
        "initial_seed": _value(0),
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "set_rng_state": _value(None),
        "get_rng_state_all": lambda: [torch.get_rng_state() for _ in range(devices)],
        "set_rng_state_all": _value(None),
        "Stream": Nothing,
        "Event": Nothing,
        "stream": Nothing,
        "current_stream": Nothing,
        "default_stream": Nothing,
    }
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "utilization"):
        answers[name] = _value(0)
    for name, answer in answers.items():
        _replace(torch.cuda, name, answer)
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        answers = {
            "is_available": _value(True),
            "device_count": _value(devices),
            "current_accelerator": _value(torch.device("cuda")),
            "current_device_index": lambda: state.current,
            "current_device_idx": lambda: state.current,
            "set_device_index": checked(set_device),
            "set_device_idx": checked(set_device),
            "current_stream": Nothing,
            "set_stream": _value(None),
            "synchronize": _value(None),
            "empty_cache": _value(None),
            "memory_allocated": _value(0),
            "max_memory_allocated": _value(0),
            "memory_reserved": _value(0),
            "max_memory_reserved": _value(0),
            "memory_stats": _value({}),
            "reset_peak_memory_stats": _value(None),
            "get_memory_info": _value((_MEMORY, _MEMORY)),
        }
        for name, answer in answers.items():
            _replace(accelerator, name, answer)


def _checked(devices: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Refuse numbers of devices that are not there."""

    def decorate(answer: Callable[..., Any]) -> Callable[..., Any]:
        def call(wanted: Any = None, *rest: Any, **more: Any) -> Any:
            found: torch.device | None = device(wanted)
            if found is not None and found.index is not None and found.index >= devices:
                raise RuntimeError("CUDA error: invalid device ordinal")
            return answer(wanted, *rest, **more)

        return call

    return decorate


def _replace(module: Any, name: str, answer: Any) -> None:
    """Put an answer into a module of torch, and into the modules that have taken the function out of it."""
    old = getattr(module, name, None)
    setattr(module, name, answer)
    if old is None or not callable(old):
        return
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").startswith(("torch.cuda", "torch.accelerator")) and other.__dict__.get(name) is old:
            setattr(other, name, answer)
