"""CUDA devices that exist only as tags: real arithmetic on the CPU, and the errors of CUDA where devices are mixed.

Each storage has a tag (``tags``). A mode on the level of functions answers what Python asks for devices (``functions``), one on the level of ATen
operations hands tags on and compares those of the operands (``operations``). ``runtime`` is what ``torch.cuda`` says of the devices, ``patches`` what
goes past both modes. Neither streams, graphs and custom kernels nor ``torch.compile`` are there; nor are errors of the backward pass and of
optimizers, whose operands come from forwards that were compared.
"""

from __future__ import annotations

import threading

from . import patches, runtime
from .functions import Functions
from .operations import Operations


def install(devices: int = 1) -> None:
    """Make this process have ``devices`` virtual GPUs, for good. Libraries that look for a GPU while they are imported must be imported before."""
    runtime.install(devices)
    patches.install()
    run = threading.Thread.run

    def run_in_modes(self: threading.Thread) -> None:
        with Functions(), Operations():  # modes belong to a thread
            run(self)

    threading.Thread.run = run_in_modes  # type: ignore[method-assign]
    Functions().__enter__()
    Operations().__enter__()
