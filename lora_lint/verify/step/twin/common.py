"""What the parts of the twin share: the plan, the script's text, notes for the report, and how libraries are patched."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

from ..patches import Patches
from .late import Late
from .paths import Paths

_HERE = os.path.dirname(os.path.abspath(__file__))
_STANDARD = {os.path.join(sysconfig.get_paths()[name], "") for name in ("stdlib", "platstdlib")}
_NOT_THE_SCRIPTS = (_HERE, "<frozen", *_STANDARD)


# By the name of their modules: a folder of PYTHONPATH may hold them as well.
_LIBRARIES = {"accelerate", "bitsandbytes", "datasets", "huggingface_hub", "pandas", "peft", "safetensors", "torch", "transformers", "trl"}


def in_library(frame: FrameType) -> bool:
    """Whether code that runs belongs to a library, to the interpreter, or to us."""
    name = frame.f_code.co_filename
    if "site-packages" in name or "dist-packages" in name or name.startswith(_NOT_THE_SCRIPTS):
        return True
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _LIBRARIES


class NoTwinError(OSError):
    """Something the script loads cannot be replaced; the text says what and why. Scripts treat it as they treat what cannot be loaded."""


class Twin:
    """One installation: everything that was replaced can be put back by ``undo``."""

    def __init__(self, plan: dict[str, Any], record: Any, root: str) -> None:
        self.plan, self.root = plan, os.path.realpath(root)
        self.record = record
        self.patches = Patches()
        self.late = Late(lambda name, error: record.add("unseen", f"{name}: {type(error).__name__}: {str(error)[:150]}", 10))
        script = str(plan.get("script") or "")
        self.source = _read(plan.get("text") or script)
        self.paths = Paths(self.root, [str(plan.get("cwd") or ""), os.path.dirname(script)])
        self.device = str(plan.get("device") or "cpu")
        limits = plan.get("limits") or {}
        self.rows, self.length, self.batch = int(limits.get("rows", 64)), int(limits.get("length", 64)), int(limits.get("batch", 2))
        self._depth = 0
        self._undo: list[Callable[[], object]] = []
        sys.meta_path.insert(0, self.late)

    def undo(self) -> None:
        """Put everything back."""
        self.patches.undo()
        for action in self._undo:
            action()
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self.late)

    def at_undo(self, action: Callable[[], object]) -> None:
        """Something more to do when everything is put back."""
        self._undo.append(action)

    def replaced(self, what: str, name: Any, by: str) -> None:
        """Note what was put in the place of something, with the user's line."""
        self.record.add("replaced", {"what": what, "id": str(name)[:200], "by": by, "line": self.record.line()})

    def off(self, what: str) -> None:
        """Note what the script asked for and is not done, with the user's line."""
        self.record.add("off", {"what": what, "line": self.record.line()})

    def no(self, what: str, name: Any, why: str) -> NoTwinError:
        """An error, to be raised, which says that there is no twin of something; noted as well."""
        self.off(f"{what} {name}: {why}")
        return NoTwinError(f"--verify has no twin of the {what} {name}: {why}")

    @property
    def busy(self) -> bool:
        """Whether the twin itself is at work, whose own calls are not to be replaced."""
        return self._depth > 0

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """For the twin's own use of the libraries."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def by_user(self) -> bool:
        """Whether the function that calls this was called by the script, and not by a library."""
        if self.busy:
            return False
        return not in_library(sys._getframe(2))

    def mentions(self, pattern: str) -> bool:
        """Whether the script's text has something in it."""
        return re.search(pattern, self.source) is not None

    def when(self, module: str, action: Callable[[ModuleType], None]) -> None:
        """Patch a module when it is there."""
        self.late.when(module, action)

    def wrap(self, owner: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        """Replace a function, method or class method of ``owner`` by what ``make`` makes of it; nothing where there is none.

        A class method is given to ``make`` as a function of the class, and so is what comes back.
        """
        found = vars(owner).get(name)
        if isinstance(found, (classmethod, staticmethod)):
            inner = found.__func__
            self.patches.set(owner, name, type(found)(functools.wraps(inner)(make(inner))))
        elif found is not None or getattr(owner, name, None) is not None:
            self.patches.wrap(owner, name, make)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
