"""Does something to a module as soon as it is imported, so that nothing is imported for its sake."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Action = Callable[[ModuleType], None]


class Late(MetaPathFinder):
    """Waits for modules."""

    def __init__(self, failed: Callable[[str, Exception], None]) -> None:
        self._waiting: dict[str, list[Action]] = {}
        self._busy: set[str] = set()
        self._failed = failed

    def when(self, name: str, action: Action) -> None:
        """Call ``action`` with a module: now where it is imported, else right after it will be."""
        module = sys.modules.get(name)
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            self._act(name, action, module)
        else:
            self._waiting.setdefault(name, []).append(action)

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """Ask the other finders, and come back when the module was executed."""
        if name not in self._waiting or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = next(filter(None, (find(name, path, target) for find in self._others())), None)
        finally:
            self._busy.discard(name)
        execute = getattr(spec.loader, "exec_module", None) if spec is not None else None
        if execute is None:
            return None

        def exec_module(module: ModuleType) -> None:
            execute(module)
            for action in self._waiting.pop(name, []):
                self._act(name, action, module)

        spec.loader.exec_module = exec_module  # type: ignore[union-attr, method-assign]
        return spec

    def _others(self) -> list[Callable[..., ModuleSpec | None]]:
        return [finder.find_spec for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]

    def _act(self, name: str, action: Action, module: ModuleType) -> None:
        try:
            action(module)
        except Exception as error:  # another release of the library: the script goes on with the real thing
            self._failed(name, error)
