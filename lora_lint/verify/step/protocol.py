"""What the child reports: the record that becomes ``seen.json``, and which stack frames are the user's."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import sysconfig
import threading
import types
from collections.abc import Callable
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_MESSAGE = 2000  # characters of an exception's text


class Places:
    """Tells the user's files from all others: the script, and what lies below its folder and is no library."""

    def __init__(self, script: str, root: str = "") -> None:
        self.script = script
        self._below = os.path.join(os.path.dirname(script), "")
        paths = sysconfig.get_paths()
        others = [_HERE, *(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))]
        self._others = tuple(os.path.join(path, "") for path in [*others, root] if path)
        self._known: dict[str, bool] = {script: True}

    def mine(self, filename: str) -> bool:
        """Whether a file is the user's."""
        answer = self._known.get(filename)
        if answer is None:
            answer = (
                filename.startswith(self._below)
                and not filename.startswith(self._others)
                and "site-packages" not in filename
                and "dist-packages" not in filename
            )
            self._known[filename] = answer
        return answer

    def of_stack(self, frame: types.FrameType | None = None) -> list[tuple[str, int]]:
        """The user's frames of a stack (by default the caller's), outermost first, as file and line."""
        frame = frame or sys._getframe(1)
        found = []
        while frame is not None:
            if self.mine(frame.f_code.co_filename):
                found.append((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
        return found[::-1]

    def of_traceback(self, traceback: types.TracebackType | None) -> list[tuple[str, int]]:
        """The user's frames of a traceback, outermost first, as file and line."""
        return [(name, line) for name, line in frames_of(traceback) if self.mine(name)]

    def line(self, frame: types.FrameType | None = None) -> int | None:
        """The line that runs now: the innermost of the script itself, else the innermost of another file of the user's."""
        frames = self.of_stack(frame or sys._getframe(1))
        here = [line for name, line in frames if name == self.script] or [line for _, line in frames]
        return here[-1] if here else None


def frames_of(traceback: types.TracebackType | None) -> list[tuple[str, int]]:
    """All frames of a traceback, outermost first, as file and line."""
    found = []
    while traceback is not None:
        found.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def own(filename: str) -> bool:
    """Whether a file belongs to this package."""
    return filename.startswith(_HERE + os.sep)


def short(filename: str) -> str:
    """A library's file from its package on: ``transformers/trainer.py``."""
    for part in ("site-packages" + os.sep, "dist-packages" + os.sep):
        _, found, rest = filename.rpartition(part)
        if found:
            return rest.replace(os.sep, "/")
    return "/".join(filename.split(os.sep)[-2:])


def _ours(traceback: types.TracebackType | None) -> bool:
    """Whether an exception was raised by this package without meaning to be the script's: outside of ``virtual_cuda``, and by no refusal."""
    frames = frames_of(traceback)
    last = frames[-1][0] if frames else ""
    return own(last) and "virtual_cuda" not in last


class Record:
    """Collects what was seen, and writes it.

    ``data`` is what will be written; anybody may put into it what JSON can hold. Nothing raises because a record cannot be written: the parent
    then finds the last one that could.
    """

    def __init__(self, path: str, places: Places) -> None:
        self.data: dict[str, Any] = {"format": 1}
        self.places = places
        self._path = path
        self._lock = threading.RLock()
        self._process = os.getpid()
        self.on_write: Callable[[dict[str, Any]], None] | None = None  # called with ``data`` before each write

    def add(self, key: str, entry: Any, limit: int = 100) -> None:
        """Append to a list of the record; what is already there is not added twice."""
        entries = self.data.setdefault(key, [])
        if len(entries) < limit and entry not in entries:
            entries.append(entry)

    def line(self) -> int | None:
        """The user's line that runs now."""
        return self.places.line()

    def exception(self, error: BaseException) -> None:
        """Note the exception that ended the script."""
        mine = self.places.of_traceback(error.__traceback__)
        if isinstance(error, SyntaxError) and error.filename and error.lineno and self.places.mine(error.filename):
            mine.append((error.filename, error.lineno))
        foreign = [(name, line) for name, line in frames_of(error.__traceback__) if not own(name)]
        library = [f"{short(name)}:{line}" for name, line in foreign if not self.places.mine(name) and not name.startswith("<")]
        self.data["exception"] = {
            "type": type(error).__name__,
            "message": text_of(error),
            "lines": mine,
            "where": library[-4:],
            "stage": stage_of(error.__traceback__),
            "ours": not isinstance(error, OSError) and _ours(error.__traceback__),
        }

    def write(self) -> None:
        """Replace the report on disk by what is known now, in one move. Does nothing in a process forked from this one."""
        if os.getpid() != self._process:
            return
        with self._lock, contextlib.suppress(OSError, RuntimeError):  # RuntimeError: another thread adds to it
            if self.on_write is not None:
                self.on_write(self.data)
            text = json.dumps(_plain(self.data))
            new = f"{self._path}.new"
            with open(new, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.replace(new, self._path)


def text_of(error: BaseException) -> str:
    """What an exception says, in a bounded length; never raises."""
    try:
        return str(error)[:_MESSAGE]
    except Exception:
        return ""


def stage_of(traceback: types.TracebackType | None) -> str:
    """In which part of a training step an exception arose, by the frames of torch that it passed."""
    inside = set()
    while traceback is not None:
        code = traceback.tb_frame.f_code
        name = code.co_filename.replace(os.sep, "/")
        if name.endswith(("torch/autograd/__init__.py", "torch/_tensor.py")) and code.co_name in ("backward", "grad"):
            inside.add("backward")
        elif ("torch/optim/" in name or name.endswith("amp/grad_scaler.py")) and code.co_name in ("step", "wrapper", "unscale_"):
            inside.add("optimizer step")
        elif name.endswith("torch/nn/modules/module.py") and code.co_name in ("_call_impl", "_wrapped_call_impl"):
            inside.add("forward")
        traceback = traceback.tb_next
    return next((stage for stage in ("backward", "optimizer step", "forward") if stage in inside), "before the step")


def _plain(value: Any) -> Any:
    """Only what JSON has: other numbers than finite ones become ``None``, unknown objects their text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or type(value) in (bool, int, float, str) else str(value)
