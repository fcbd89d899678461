"""Runs scenarios on the libraries that this interpreter finds: imports these once, then forks a child for each scenario.

usage: python worker.py SCENARIO.py …
The first line of the output is a JSON object of the versions, each other one the answer of a scenario: that of ``_common.Answer`` with "fact", and
with "broken" where the scenario gave none.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import runpy
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

LIBRARIES = ("transformers", "peft", "trl", "accelerate", "bitsandbytes", "torch")
HEAVY = ("torch._dynamo", "transformers.trainer", "transformers.models.llama.modeling_llama", "peft", "trl.trainer.sft_trainer")
TIMEOUT = 120  # seconds for one scenario


def versions() -> dict[str, str]:
    """The installed libraries with their versions, and Python's."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = ""
    return found


def run(path: Path) -> dict[str, Any]:
    """The answer of one scenario, run in a child."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            signal.alarm(TIMEOUT)
            status = 1
            try:
                runpy.run_path(str(path), run_name="__main__")
                status = 0
            except BaseException as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                text = (str(error).strip() or " ").splitlines()[0]
                sys.stderr.write(f"{type(error).__name__}: {text} ({Path(last.filename).name}:{last.lineno})\n")
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        status = os.waitpid(child, 0)[1]
        out.seek(0)
        errors.seek(0)
        lines = out.read().decode(errors="replace").splitlines()
        if status == 0 and lines:
            return {"fact": path.stem, **json.loads(lines[-1])}
        said = errors.read().decode(errors="replace").strip().splitlines()
        why = "it took too long" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM else said[-1] if said else f"status {status}"
        return {"fact": path.stem, "holds": None, "message": "", "why": why, "how": "run", "broken": True}


def main() -> None:
    scenarios = [Path(argument) for argument in sys.argv[1:]]
    sys.path.insert(0, str(Path(__file__).parent / "scenarios"))
    answers = os.dup(1)
    os.dup2(2, 1)  # what a library prints while it is imported is no answer
    import _common  # noqa: F401 - sets the variables that the libraries read

    for name in HEAVY:
        try:
            importlib.import_module(name)
        except Exception as error:  # a scenario that needs it will say so
            sys.stderr.write(f"{name} cannot be imported: {type(error).__name__}: {error}\n")
    with os.fdopen(answers, "w") as stream:
        for line in (versions(), *map(run, scenarios)):
            stream.write(json.dumps(line) + "\n")
            stream.flush()


if __name__ == "__main__":
    main()
