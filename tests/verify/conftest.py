"""Runs small scripts under observation, in a process of their own or in this one."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from verify.verify_scripts import run_step

Run = Callable[..., dict[str, Any]]


class Left(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Run]:
    """Run a script's text under observation in this process; returns what was seen, as it would be written."""
    watches = []

    def run(source: str, until: str = "step", gradcheck: bool = True) -> dict[str, Any]:
        from lora_lint.verify.step.protocol import Places, Record
        from lora_lint.verify.step.watch import Stop, Watch

        script = tmp_path / "train.py"
        text = textwrap.dedent(source)
        record = Record(str(tmp_path / "seen.json"), Places(str(script)))

        def leave(status: int) -> None:
            record.data["left"] = True
            raise Left

        watch = Watch(record, until, gradcheck, leave)
        watches.append(watch)
        watch.install()
        try:
            exec(compile(text, str(script), "exec"), {"__name__": "__main__", "__file__": str(script)})
            record.data["end"] = record.data.get("end", "finished")
        except (Stop, Left) as error:
            record.data["raised"] = type(error).__name__
        except Exception as error:
            record.data.setdefault("end", "exception")
            record.exception(error)
        finally:
            watch.finish()
            watch.uninstall()
        record.write()
        return dict(json.loads((tmp_path / "seen.json").read_text(encoding="utf-8")))

    yield run
    for watch in watches:
        watch.uninstall()


@pytest.fixture
def step(tmp_path: Path) -> Run:
    """Run a script's text through the step; returns what was seen, with what it printed."""

    def run(source: str, **plan: Any) -> dict[str, Any]:
        return run_step(tmp_path, source, **plan)

    return run
