"""Moves and casts of models: ``.to()``, ``.cuda()``, ``.half()`` and the like, with what came of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from .models import Models
from .patches import Patches
from .protocol import Record, own, text_of

_METHODS = ("to", "cuda", "cpu", "half", "float", "bfloat16", "double", "type")
_DTYPES = {"half": "torch.float16", "float": "torch.float32", "bfloat16": "torch.bfloat16", "double": "torch.float64"}


class Moves:
    """Records the outermost move of a model, and its error."""

    def __init__(self, record: Record, models: Models, busy: Callable[[], bool]) -> None:
        self._record, self._models, self._busy = record, models, busy
        self._inside = False

    def install(self, patches: Patches) -> None:
        """Look on at each class that has a method of its own."""
        import torch

        classes = [torch.nn.Module]
        transformers = sys.modules.get("transformers")
        if transformers is not None:
            classes.append(transformers.PreTrainedModel)
        for cls in classes:
            for method in _METHODS:
                if method in vars(cls):
                    patches.wrap(cls, method, lambda original, method=method: self._around(original, method))  # type: ignore[misc]

    def _around(self, original: Any, method: str) -> Callable[..., Any]:
        def move(module: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside or self._busy() or not self._models.interesting(type(module)) or own(sys._getframe(1).f_code.co_filename):
                return original(module, *args, **kwargs)
            line, dispatched = self._record.line(), isinstance(getattr(module, "hf_device_map", None), dict)
            failed = None
            self._inside = True
            try:
                return original(module, *args, **kwargs)
            except Exception as error:
                failed = f"{type(error).__name__}: {text_of(error)}"
                raise
            finally:
                self._inside = False
                with contextlib.suppress(Exception):
                    number, place = self._models.of(module).number, _target(method, args, kwargs)
                    entry = {"model": number, "line": line, "method": method, "to": place, "dispatched": dispatched, "error": failed}
                    self._record.add("moves", entry, 40)

        return move


def _target(method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    if method in _DTYPES:
        return _DTYPES[method]
    if method == "cpu":
        return "cpu"
    parts = [*args[:2], *kwargs.values()]
    words = []
    for part in parts:
        if isinstance(part, bool) or part is None:
            continue
        words.append(f"cuda:{part}" if isinstance(part, int) else str(getattr(part, "device", part)))
    return ", ".join(words) or ("cuda" if method == "cuda" else "")
