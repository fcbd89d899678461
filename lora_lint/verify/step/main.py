"""The order of things in the child: read the plan, import, replace, watch, lock, run the script, write down what was seen."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import importlib.metadata
import importlib.util
import io
import json
import linecache
import os
import platform
import signal
import sys
import time
import types
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from typing import Any, NoReturn

from .protocol import Places, Record
from .watch import Stop, Watch

_VERSIONS = ("torch", "transformers", "peft", "trl", "accelerate", "bitsandbytes", "datasets", "tokenizers", "safetensors", "lightning", "diffusers")
# Imported before the lock closes; what needs them brings them in as well.
_LIBRARIES = ("torch", "transformers", "datasets", "accelerate", "peft", "bitsandbytes", "trl")
_ON_TRANSFORMERS = set("peft trl accelerate bitsandbytes datasets unsloth diffusers sentence_transformers lightning pytorch_lightning".split())
_exit = os._exit


def main(plan_path: str) -> NoReturn:
    """Run the plan and end the process; the report is written whatever happens."""
    began = time.monotonic()
    with open(plan_path, encoding="utf-8") as stream:
        plan = json.load(stream)
    step = Step(plan, Record(plan["seen"], Places(plan["script"], plan.get("root", ""))), began)
    step.run()
    for output in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            output.flush()
    _exit(0)


class Step:
    """One run of a script."""

    def __init__(self, plan: dict[str, Any], record: Record, began: float) -> None:
        self._plan, self._record, self._began = plan, record, began
        self._imported = self._ended = began
        self._watch: Watch | None = None

    def run(self) -> None:
        """From the imports to the end of the script. Raises nothing that the script raises."""
        record = self._record
        record.on_write = self._measure
        os._exit = self._exit_of_script  # type: ignore[assignment]
        with contextlib.suppress(ValueError, OSError, AttributeError):
            signal.signal(signal.SIGTERM, self._timed_out)
        try:
            try:
                source = self._source()
                self._prepare(source)
            except BaseException as error:
                record.data["end"] = "imports failed"
                record.exception(error)
                return
            self._imported = time.monotonic()
            record.write()
            self._end(self._run_script(source))
        finally:
            self._ended = time.monotonic()
            record.write()

    def _source(self) -> bytes:
        with io.open_code(self._plan.get("text") or self._plan["script"]) as stream:
            return stream.read()

    def _prepare(self, source: bytes) -> None:
        plan, record = self._plan, self._record
        os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # compiled code cannot be watched
        record.data["versions"] = versions()
        folder = os.path.dirname(plan["script"])
        _import(mentioned(source, folder), folder)
        import torch

        device = plan.get("device", "cpu")
        if device == "virtual":
            importlib.import_module(".virtual_cuda", __package__).install(plan.get("devices", 1))
            record.data["device"] = f"virtual cuda ({plan.get('devices', 1)})"
        else:
            record.data["device"] = f"cuda ({torch.cuda.get_device_name(0)})" if device == "cuda" else "cpu"
        if importlib.util.find_spec(f"{__package__}.twin") is not None:
            twin = importlib.import_module(".twin", __package__)
            twin.install(plan, record, plan["root"])
        self._watch = Watch(record, plan.get("until", "step"), plan.get("gradcheck", True), self._leave)
        self._watch.install()
        if plan.get("lock", True):
            from .lock import lock

            record.data["confinement"] = lock(plan["root"], plan.get("secrets", ()))

    def _run_script(self, source: bytes) -> BaseException | None:
        """Run it as ``python script.py`` does; returns what it raised."""
        script = self._plan["script"]
        if self._plan.get("text"):  # what tracebacks and inspect show
            text = source.decode("utf-8", "replace")
            linecache.cache[script] = (len(text), None, text.splitlines(keepends=True), script)
        module = types.ModuleType("__main__")
        loader = SourceFileLoader("__main__", script)
        module.__dict__.update(__file__=script, __builtins__=builtins, __loader__=loader, __spec__=None, __cached__=None)
        sys.modules["__main__"] = module
        sys.argv = [script, *self._plan.get("argv", [])]
        folder = os.path.dirname(os.path.realpath(script)) if os.path.islink(script) else os.path.dirname(script)
        if sys.path and sys.path[0] == "":
            sys.path[0] = folder
        else:
            sys.path.insert(0, folder)
        sys.path.extend(path for path in self._plan.get("paths", ()) if path not in sys.path)
        try:
            exec(compile(source, script, "exec", dont_inherit=True), module.__dict__)
        except BaseException as error:
            self._finish(error)
            return error
        self._finish(None)
        return None

    def _finish(self, error: BaseException | None) -> None:
        """Look once more, while the script's objects are alive: those in frames are kept by the traceback."""
        if self._watch is not None and not self._watch.stopped:
            with contextlib.suppress(Exception):
                self._watch.finish()

    def _end(self, error: BaseException | None) -> None:
        record = self._record
        if self._watch is not None and self._watch.stopped:
            return
        if error is None:
            record.data["end"] = "finished"
        elif isinstance(error, SystemExit):
            self._exited(error.code)
            cause = error.__context__
            if isinstance(cause, Exception):  # caught, printed, and turned into a status
                record.exception(cause)
            elif record.data["exit_code"]:
                record.exception(error)
        elif not isinstance(error, Stop):
            record.data["end"] = "exception"
            record.exception(error)

    def _exited(self, code: Any) -> None:
        self._record.data["end"] = "exit"
        self._record.data["exit_code"] = code if isinstance(code, int) else 0 if code is None else 1

    def _exit_of_script(self, code: int = 0) -> NoReturn:
        if self._watch is None or not self._watch.stopped:
            self._exited(code)
        self._leave(0)

    def _timed_out(self, number: int, frame: types.FrameType | None) -> None:
        if self._watch is None or not self._watch.stopped:
            self._record.data["end"] = "timeout"
            self._record.data["running"] = self._record.places.of_stack(frame)
        self._leave(0)

    def _leave(self, code: int) -> NoReturn:
        self._record.write()
        _exit(code)

    def _measure(self, data: dict[str, Any]) -> None:
        now = time.monotonic()
        imported = self._imported if self._imported > self._began else now
        times = {"imports": imported - self._began, "script": now - imported, "total": now - self._began}
        data["time"] = {name: round(seconds, 2) for name, seconds in times.items()}
        with contextlib.suppress(ImportError):
            import resource

            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            data["memory_mb"] = round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def versions() -> dict[str, str]:
    """The installed versions of what a verdict may depend on."""
    found = {"python": platform.python_version()}
    for name in _VERSIONS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def mentioned(source: bytes, folder: str) -> set[str]:
    """The top-level modules that a script imports, itself or through files beside it."""
    found: set[str] = set()
    todo = [source]
    while todo:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            for name in _imports(ast.parse(todo.pop())):
                if name in found:
                    continue
                found.add(name)
                todo += _local(folder, name)
    return found


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _local(folder: str, name: str) -> Iterator[bytes]:
    """The text of a module, or of all modules of a package, that lies beside the script."""
    base = os.path.join(folder, name)
    files = [f"{base}.py"]
    if os.path.isdir(base):
        files += [os.path.join(place, file) for place, _, names in os.walk(base) for file in names if file.endswith(".py")][:200]
    for file in files:
        with contextlib.suppress(OSError), open(file, "rb") as stream:
            yield stream.read()


def _beside(folder: str, name: str) -> bool:
    """Whether a module beside the script hides the library of that name."""
    return os.path.isfile(os.path.join(folder, f"{name}.py")) or os.path.isfile(os.path.join(folder, name, "__init__.py"))


def _import(names: set[str], folder: str) -> None:
    """Import torch and what the script will need of the libraries, each as far as it is there, works, and is not hidden in the script's folder."""
    wanted = {"torch", *names}
    if wanted & {"transformers", *_ON_TRANSFORMERS}:  # it imports the others on its way, which the lock would cut short
        wanted |= {"transformers", "accelerate", "peft", "datasets", "bitsandbytes"}
    for name in (*_LIBRARIES, *sorted(_ON_TRANSFORMERS - set(_LIBRARIES))):
        if name in wanted and not _beside(folder, name):
            try:
                importlib.import_module(name)
            except Exception:
                if name == "torch":
                    raise
