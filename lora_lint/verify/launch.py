"""The parent's side of ``--verify``: finds the interpreter, starts the confined child, and always gets an end and a clean place back."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from lora_lint.verify import confine

End = Literal["reported", "timeout", "killed", "no report", "cannot start"]

_TAIL = 4096  # bytes of output that are kept
_GRACE = 2.0  # seconds between the request to end and the end
_STEP = Path(__file__).with_name("step")

# Loads the child's package from its folder, under a name of its own: sys.path stays what it would be for the script.
_BOOTSTRAP = """\
import importlib.util, sys
name, folder, plan = "lora_lint_step", sys.argv[1], sys.argv[2]
spec = importlib.util.spec_from_file_location(name, folder + "/__init__.py", submodule_search_locations=[folder])
package = sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
from lora_lint_step.main import main
main(plan)
"""

_CHECK = """\
import importlib.util, sys
if sys.version_info < (3, 9): print("old", *sys.version_info[:2])
else: print("missing", *(name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None))
"""


@dataclass(frozen=True)
class Outcome:
    """How a run of the child ended.

    ``seen`` is what it reported, as read from JSON; it may be there after a timeout as well. ``detail`` is one line. ``output_tail`` is the end
    of what it printed. ``confinement`` says what held, and after ``not:`` what did not.
    """

    seen: dict[str, Any] | None
    end: End
    detail: str
    output_tail: str
    seconds: float
    confinement: list[str] = field(default_factory=list)


def find_python(given: Path | None, script: Path) -> Path:
    """The interpreter of the training environment: ``given``, else that of the nearest environment which holds torch, else our own.

    Looked for are ``.venv`` and ``venv`` in the script's folder and above, then ``$VIRTUAL_ENV`` and ``$CONDA_PREFIX``.
    """
    if given is not None:
        return Path(os.path.abspath(given.expanduser()))  # a link of a virtual environment must not be resolved
    folders = [folder / name for folder in Path(os.path.abspath(script)).parents for name in (".venv", "venv")]
    folders += [Path(os.environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    for folder in folders:
        python = folder / ("python.exe" if folder.joinpath("python.exe").exists() else "Scripts/python.exe" if os.name == "nt" else "bin/python")
        packages = [*folder.glob("lib/python3*/site-packages/torch"), *folder.glob("Lib/site-packages/torch")]
        if packages and os.access(python, os.X_OK):
            return python
    return Path(sys.executable)


def check_python(python: Path) -> str | None:
    """One line with the cure where this interpreter cannot run a training script, else ``None``. Starts it once and imports nothing in it."""
    try:
        answer = subprocess.run(
            [python, "-c", _CHECK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
        )
    except FileNotFoundError:
        return f"there is no interpreter {python}: name that of your training environment with --verify-python"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{python} cannot be started ({_why(error)}): name the interpreter of your training environment with --verify-python"
    for line in answer.stdout.splitlines():
        word, *rest = line.split() or [""]
        if word == "old":
            return f"{python} is Python {'.'.join(rest)}, and --verify needs 3.9: name a newer interpreter with --verify-python"
        if word == "missing":
            if not rest:
                return None
            names, is_are = " and ".join(rest), "are" if len(rest) > 1 else "is"
            cure = "pip install 'lora-lint[verify]', or name your training environment with --verify-python"
            return f"{names} {is_are} not installed for {python}: {cure}"
    return f"{python} is no Python interpreter that works: name that of your training environment with --verify-python"


def run_step(
    plan: dict[str, Any],
    *,
    python: Path,
    timeout: float,
    memory_gb: float | None = None,
    bootstrap: str | None = None,
    kernel: bool = True,
) -> Outcome:
    """Run the plan in a confined child of ``python`` for at most ``timeout`` seconds, and some more to end it.

    ``root``, ``seen`` and ``secrets`` of the plan are filled in here. ``bootstrap`` is Python source to run instead of the step; it gets the
    folder of ``step`` and the path of the plan as arguments. Without ``kernel`` nothing is asked of the Linux kernel, as on systems that lack
    it. Only ``KeyboardInterrupt`` and the like come out, after everything was ended and removed.
    """
    began = time.monotonic()
    try:
        root = confine.make_scratch()
    except OSError as error:
        return Outcome(None, "cannot start", f"no scratch folder can be made: {_why(error)}", "", 0.0)
    try:
        child = _Child(
            root, python, plan, bootstrap or _BOOTSTRAP, timeout, memory_gb or confine.default_memory_gb(device=plan.get("device") == "cuda"), kernel
        )
        return child.run(began)
    except (OSError, ValueError) as error:
        return Outcome(None, "cannot start", f"the child of --verify cannot be started: {_why(error)}", "", time.monotonic() - began)
    finally:
        confine.remove(root)


class _Child:
    """One run: starts it, listens to it, ends it."""

    def __init__(self, root: Path, python: Path, plan: dict[str, Any], bootstrap: str, timeout: float, memory_gb: float, kernel: bool) -> None:
        self._root, self._timeout, self._kernel = root, timeout, kernel
        self._seen = root / "out" / "seen.json"
        whole = {**plan, "root": str(root), "seen": str(self._seen), "secrets": confine.secrets(os.environ)}
        path = root / "out" / "plan.json"
        path.write_text(json.dumps(whole), encoding="utf-8")
        self._command = [os.path.abspath(python), "-c", bootstrap, str(_STEP), str(path)]
        text = _text_of(plan)
        self._environment = confine.environment(root, os.environ, text, hide_devices=plan.get("device") in ("cpu", "virtual"))
        self._limits = confine.Limits.of(timeout, memory_gb)
        self._tail = b""
        self._ended: int | None = None
        self._group = 0
        self._why = self._cannot = ""
        self._confinement: list[str] = []

    def run(self, began: float) -> Outcome:
        started = self._supervised() if os.name == "posix" else self._alone()
        with started as messages:
            in_time = self._listen(messages, began + self._timeout)
            seen = _read(self._seen)
        return self._outcome(seen, in_time, time.monotonic() - began)

    @contextlib.contextmanager
    def _supervised(self) -> Iterator[int]:
        """Start it below a supervisor; yields the descriptor of its reports. On leaving, all processes are ended."""
        reports, reported = os.pipe()
        package = str(Path(__file__).resolve().parents[2])
        code = f"import sys; sys.path.append({package!r}); from lora_lint.verify import supervise; supervise.main({reported})"
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(reported,),
                start_new_session=True,
                bufsize=0,
            )
        finally:
            os.close(reported)
        self._process = process
        reader = self._drain(process.stdout)
        order = {
            "command": self._command,
            "environment": self._environment,
            "root": str(self._root),
            "limits": self._limits.as_json(),
            "kernel": self._kernel,
        }
        try:
            _send(process.stdin, json.dumps(order).encode() + b"\n")
            yield reports
        finally:
            with contextlib.suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                _kill_group(process.pid)
            finally:
                os.close(reports)
                if self._group and self._ended is None:  # the supervisor was killed before the child
                    _kill_group(self._group)
            reader.join(1)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[int]:
        """Start it without a supervisor (Windows: in a process group of its own); yields no descriptor."""
        process = subprocess.Popen(
            self._command,
            cwd=self._root / "work",
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            bufsize=0,
        )
        self._process = process
        self._confinement = ["not: only Python code is held, and only after the imports; memory is not limited"]
        reader = self._drain(process.stdout)
        try:
            yield -1
        finally:
            if process.poll() is None:
                killer = ["taskkill", "/PID", str(process.pid), "/T", "/F"]
                with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                    subprocess.run(killer, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10)
                process.kill()
            process.wait()
            reader.join(1)

    def _drain(self, stream: IO[bytes] | None) -> threading.Thread:
        """Read all that is printed, so that the child never waits for us, and keep the end."""
        assert stream is not None

        def read() -> None:
            with stream, contextlib.suppress(OSError, ValueError):
                while block := stream.read(1 << 16):
                    self._tail = (self._tail + block)[-_TAIL:]

        thread = threading.Thread(target=read, daemon=True, name="output of the child")
        thread.start()
        return thread

    def _listen(self, reports: int, deadline: float) -> bool:
        """Take in reports until the child has ended; whether it did by itself before the deadline."""
        if reports < 0:
            try:
                self._ended = self._process.wait(max(deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                return False
            return True
        in_time = True
        pending = b""
        while True:
            left = deadline - time.monotonic()
            if not select.select([reports], [], [], max(left, 0))[0]:
                if not in_time:
                    return False
                in_time, deadline = False, time.monotonic() + _GRACE
                _send(self._process.stdin, b"T")
                continue
            block = os.read(reports, 1 << 16)
            if not block:
                return in_time
            *lines, pending = (pending + block).split(b"\n")
            for line in lines:
                self._take(json.loads(line))
            if self._ended is not None:
                return in_time

    def _take(self, message: Mapping[str, Any]) -> None:
        if "held" in message:
            self._group = message["group"]
            self._confinement = [*message["held"], *(f"not: {what}" for what in message["not"])]
        self._cannot = message.get("cannot", self._cannot)
        if "ended" in message:
            self._ended, self._why = message["ended"], message["why"]

    def _outcome(self, seen: dict[str, Any] | None, in_time: bool, seconds: float) -> Outcome:
        tail = self._tail.decode("utf-8", "replace")
        if seen is not None and isinstance(seen.get("confinement"), list):
            self._confinement = [*self._confinement, *map(str, seen["confinement"])]
        end, detail = self._judge(seen, in_time)
        return Outcome(seen, end, detail, tail, seconds, self._confinement)

    def _judge(self, seen: dict[str, Any] | None, in_time: bool) -> tuple[End, str]:
        if self._cannot:
            return "cannot start", f"the interpreter does not start: {self._cannot}"
        if seen is not None and seen.get("end") not in (None, "timeout") and not self._why:
            return "reported", _told(seen)
        if not in_time:
            return "timeout", f"the script did not reach the end of its first step within {self._timeout:g} s"
        if self._why:
            return "killed", f"the script was ended: {self._why}"
        if self._ended is None:
            return "killed", "the process that watches over the script was ended from outside"
        if self._ended < 0:
            return "killed", f"the script's process was killed by {_signal_name(-self._ended)}"
        return "no report", f"the script's process ended with status {self._ended} and reported nothing"


def _send(stream: IO[bytes] | None, data: bytes) -> None:
    with contextlib.suppress(OSError):
        stream.write(data)  # type: ignore[union-attr]


def _kill_group(process: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process, signal.SIGKILL)


def _text_of(plan: Mapping[str, Any]) -> str:
    """The source that will run, for the names of variables in it; empty where it cannot be read."""
    path = plan.get("text") or plan.get("script")
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace") if path else ""
    except OSError:
        return ""


def _read(path: Path) -> dict[str, Any] | None:
    """What the child reported: an object of JSON of a reasonable size, or ``None``."""
    try:
        if path.is_symlink() or path.stat().st_size > 64 << 20:
            return None
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _told(seen: Mapping[str, Any]) -> str:
    """One line about a report."""
    end, exception = seen["end"], seen.get("exception")
    if end in ("exception", "imports failed") and isinstance(exception, dict):
        first = str(exception.get("message", "")).strip().partition("\n")[0][:200]
        line = _last_line(exception.get("lines"))
        where = f" at line {line}" if line else ""
        if exception.get("type") == "EOFError":
            return f"the script waits for input{where}, and --verify gives it none"
        return f"{exception.get('type', 'an exception')}{where}: {first}"
    if end == "exit":
        return f"the script ended itself with status {seen.get('exit_code')} before its first step"
    if end == "finished":
        return "the script ran to its end without an optimizer step"
    return "one optimizer step was done" if end == "step" else str(end)


def _last_line(frames: Iterable[Any] | None) -> int | None:
    with contextlib.suppress(TypeError, ValueError, IndexError):
        return int(list(frames or [])[-1][1])
    return None


def _signal_name(number: int) -> str:
    meanings = {9: "out of memory, most likely", 24: "out of processor time", 25: "a file too large", 11: "a crash in native code", 6: "an abort"}
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"{name} ({meanings[number]})" if number in meanings else name


def _why(error: BaseException) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error).partition("\n")[0]
