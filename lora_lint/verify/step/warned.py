"""What the libraries warn of, whether or not the script shows it."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

from .patches import Patches
from .protocol import Record, own

_LIBRARIES = ("transformers", "peft", "trl", "accelerate", "torch", "bitsandbytes")
_MOST = 10
_PASSING = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)  # about what works still


class _Handler(logging.Handler):
    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._note(record.getMessage())
        except Exception:
            self.handleError(record)


class Warned:
    """Collects warnings, the first few distinct ones."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._handler = _Handler(self._note)

    def install(self, patches: Patches) -> None:
        """Listen to ``warnings.warn`` and to the loggers of the libraries."""
        patches.wrap(warnings, "warn", self._around)
        for name in _LIBRARIES:
            logging.getLogger(name).addHandler(self._handler)

    def uninstall(self) -> None:
        """Listen no more to the loggers."""
        for name in _LIBRARIES:
            logging.getLogger(name).removeHandler(self._handler)

    def _around(self, original: Any) -> Callable[..., None]:
        def warn(message: Any, category: Any = None, stacklevel: int = 1, *args: Any, **kwargs: Any) -> None:
            caller = sys._getframe(1).f_code.co_filename
            kind = type(message) if isinstance(message, Warning) else category or UserWarning
            if not self._record.places.mine(caller) and not own(caller) and not issubclass(kind, _PASSING):
                self._note(str(message))
            original(message, category, stacklevel + 1, *args, **kwargs)

        return warn

    def _note(self, text: str) -> None:
        self._record.add("warnings", text[:300], _MOST)
