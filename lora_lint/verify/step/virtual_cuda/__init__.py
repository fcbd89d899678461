"""Virtual CUDA: torch computes on the CPU and behaves as if it had CUDA devices.

Every storage carries the device it would be on. Tensors answer ``.device`` and move by that mark, results get the mark of their operands, and
operands on different devices raise what CUDA raises, at the same line. No kernel, memory limit or order of streams of a GPU is imitated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..patches import Patches


def install(count: int = 1, memory_gb: float = 80.0) -> Callable[[], None]:
    """Give this process ``count`` virtual devices of ``memory_gb`` each; returns what takes them away again.

    For threads that exist it holds in the caller's only. Libraries that ask for CUDA when they are imported must be imported before.
    """
    import torch

    from . import queries, runtime, tensors
    from .mixing import Mixing
    from .tags import Devices, devices

    patches = Patches()
    before = {module: dict(vars(module)) for module in (torch, torch.cuda, torch.cuda.random, torch.cuda.memory)}
    Devices.count, devices.current = count, 0
    queries.install(patches, round(memory_gb * (1 << 30)))
    tensors.install(patches)
    undo_runtime = runtime.install(patches)
    runtime.rebind(patches, before)
    mode = Mixing()
    mode.__enter__()
    _follow_threads(patches)

    def undo() -> None:
        mode.__exit__(None, None, None)
        undo_runtime()
        patches.undo()

    return undo


def _follow_threads(patches: Patches) -> None:
    """Modes hold for one thread; libraries load weights in others."""
    from .mixing import Mixing

    name = "_bootstrap_inner" if hasattr(threading.Thread, "_bootstrap_inner") else "run"

    def followed(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: threading.Thread) -> None:
            with Mixing():
                original(self)

        return run

    patches.wrap(threading.Thread, name, followed)
