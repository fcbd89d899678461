"""``--verify``: run the user's own script, confined, up to its first optimizer step, and see which findings come true.

The only package of the project that starts a process. ``launch`` starts it and gets it back, ``confine`` and ``supervise`` hold it, ``step``
is what runs in it. Importing this package imports none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lora_lint.verify.launch import Outcome, check_python, find_python, run_step

__all__ = ["Outcome", "check_python", "find_python", "run_step"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lora_lint.verify import launch

    return getattr(launch, name)
