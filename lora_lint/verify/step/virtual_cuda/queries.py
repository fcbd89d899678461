"""``torch.cuda`` and ``torch.accelerator``: what they say about devices, memory, streams and random numbers."""

from __future__ import annotations

import contextlib
import time
import types
from collections.abc import Iterator
from typing import Any

import torch

from ..patches import Patches
from .tags import devices, placed

NAME = "Virtual CUDA"
CAPABILITY = (8, 0)
_VERSION = "12.8"


def install(patches: Patches, memory: int) -> None:
    """Replace the functions; ``memory`` is each device's, in bytes."""
    cuda = torch.cuda
    for name, function in {**_of_devices(memory), **_of_memory(memory), **_of_random_numbers(), **_of_streams()}.items():
        patches.set(cuda, name, function)
    for module in (cuda.random, cuda.memory, cuda.streams):
        for name in vars(cuda):
            if name in vars(module) and name in _REBOUND:
                patches.set(module, name, getattr(cuda, name))
    if torch.version.cuda is None:
        patches.set(torch.version, "cuda", _VERSION)
    patches.set(torch._C, "_get_accelerator", lambda check=None: torch.device("cuda"))
    if hasattr(torch, "accelerator"):
        for name, function in _of_accelerator().items():
            if hasattr(torch.accelerator, name):
                patches.set(torch.accelerator, name, function)


_REBOUND = {"get_rng_state", "set_rng_state", "manual_seed", "manual_seed_all", "mem_get_info", "memory_allocated", "Stream", "Event"}


def _index(device: Any = None) -> int:
    """The number of a device. Raises what CUDA raises for one that is not there."""
    if device is None:
        return devices.current
    found = placed(device)
    if found is None or found.type != "cuda":
        text = f"Expected a cuda device, but got: {device}"
        raise ValueError(text)
    return int(found.index)


def _set_device(device: Any) -> None:
    if not (isinstance(device, int) and device < 0):  # a negative number is no device, and does nothing
        devices.current = _index(device)


class _Device:
    """``with torch.cuda.device(1):``"""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None or (isinstance(device, int) and device < 0) else _index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = devices.current
        if self.idx >= 0:
            devices.current = self.idx

    def __exit__(self, *error: object) -> None:
        devices.current = self.prev_idx


class _DeviceOf(_Device):
    """``with torch.cuda.device_of(tensor):``"""

    def __init__(self, tensor: Any) -> None:
        super().__init__(tensor.get_device() if tensor.is_cuda else -1)


def _of_devices(memory: int) -> dict[str, Any]:
    def properties(device: Any = None) -> Any:
        return types.SimpleNamespace(
            name=NAME, major=CAPABILITY[0], minor=CAPABILITY[1], total_memory=memory, multi_processor_count=108, warp_size=32, is_integrated=False,
            is_multi_gpu_board=False, max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536, gcnArchName="", L2_cache_size=40 << 20,
            shared_memory_per_block=48 << 10, shared_memory_per_block_optin=163 << 10, shared_memory_per_multiprocessor=164 << 10,
            uuid=f"virtual-{_index(device)}",
        )  # fmt: skip

    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "_is_in_bad_fork": lambda: False,
        "device_count": lambda: type(devices).count,
        "current_device": lambda: devices.current,
        "set_device": _set_device,
        "device": _Device,
        "device_of": _DeviceOf,
        "_DeviceGuard": _Device,
        "_exchange_device": _exchange_device,
        "_maybe_exchange_device": _exchange_device,
        "get_device_name": lambda device=None: NAME if _index(device) >= 0 else "",
        "get_device_capability": lambda device=None: CAPABILITY if _index(device) >= 0 else (0, 0),
        "get_device_properties": properties,
        "get_arch_list": lambda: ["sm_80"],
        "is_bf16_supported": lambda *args, **kwargs: True,
        "is_tf32_supported": lambda: True,
        "can_device_access_peer": lambda device, peer: True,
        "synchronize": lambda device=None: None,
        "ipc_collect": lambda: None,
        "is_current_stream_capturing": lambda: False,
    }


def _exchange_device(device: int) -> int:
    before = devices.current
    if device >= 0:
        devices.current = device
    return before


def _of_memory(memory: int) -> dict[str, Any]:
    numbers = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_cached", "max_memory_cached")
    nothing = ("reset_peak_memory_stats", "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached")
    found: dict[str, Any] = dict.fromkeys(numbers, lambda device=None: 0)
    found.update(dict.fromkeys(nothing, lambda device=None: None))
    found.update(
        empty_cache=lambda: None,
        mem_get_info=lambda device=None: (memory, memory),
        memory_stats=lambda device=None: {},
        memory_summary=lambda device=None, abbreviated=False: "",
        memory_snapshot=lambda *args, **kwargs: [],
        set_per_process_memory_fraction=lambda fraction, device=None: None,
        utilization=lambda device=None: 0,
    )
    return found


def _of_random_numbers() -> dict[str, Any]:
    """There is one stream of random numbers, the CPU's; so its state is every device's, and seeding a device leaves it alone."""

    def set_all(states: Any) -> None:
        for state in states:
            torch.set_rng_state(state)

    return {
        "get_rng_state": lambda device="cuda": torch.get_rng_state(),
        "set_rng_state": lambda new_state, device="cuda": torch.set_rng_state(new_state),
        "get_rng_state_all": lambda: [torch.get_rng_state() for _ in range(type(devices).count)],
        "set_rng_state_all": set_all,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "seed": lambda: None,
        "seed_all": lambda: None,
        "initial_seed": torch.initial_seed,
    }


class Stream:
    """A stream on which everything is done at once."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device = torch.device("cuda", _index(device))
        self.device_index, self.stream_id, self.cuda_stream = self.device.index, 0, 0

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def record_event(self, event: Any = None) -> Any:
        """An event at this point."""
        event = event or Event()
        event.record(self)
        return event

    def is_capturing(self) -> bool:
        """Whether a graph is recorded."""
        return False

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def wait_event(self, event: Any) -> None:
        """Nothing is left to wait for."""

    def wait_stream(self, stream: Any) -> None:
        """Nothing is left to wait for."""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class Event:
    """A point in time."""

    def __init__(self, enable_timing: bool = False, **kwargs: Any) -> None:
        self._at = 0.0

    def record(self, stream: Any = None) -> None:
        """Now."""
        self._at = time.monotonic()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds up to another event."""
        return 1e3 * (end._at - self._at)

    def query(self) -> bool:
        """Whether it has happened."""
        return True

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Nothing is left to wait for."""


@contextlib.contextmanager
def _stream(stream: Any) -> Iterator[None]:
    with _Device(stream.device if isinstance(stream, Stream) else None):
        yield


def _of_streams() -> dict[str, Any]:
    return {
        "Stream": Stream,
        "Event": Event,
        "stream": _stream,
        "StreamContext": _stream,
        "current_stream": Stream,
        "default_stream": Stream,
        "set_stream": lambda stream: None,
    }


def _nothing() -> None:
    pass


def _of_accelerator() -> dict[str, Any]:
    cuda = torch.cuda
    names = (
        "empty_cache empty_host_cache memory_allocated memory_reserved memory_stats max_memory_allocated max_memory_reserved "
        "reset_accumulated_memory_stats reset_peak_memory_stats synchronize device_count current_stream set_stream"
    )
    found: dict[str, Any] = {name: getattr(cuda, name, _nothing) for name in names.split()}
    found.update(
        is_available=lambda: True,
        current_accelerator=lambda check_available=False: torch.device("cuda"),
        current_device_index=cuda.current_device,
        current_device_idx=cuda.current_device,
        set_device_index=_set_device,
        set_device_idx=_set_device,
        device_index=_Device,
        get_memory_info=cuda.mem_get_info,
        get_device_capability=lambda device=None: {"supported_dtypes": set()},
    )
    return found
