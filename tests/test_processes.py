"""Several processes: the same report, in the same order, whatever happens to one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lora_lint import engine, processes
from lora_lint.config import Settings
from lora_lint.engine import FileResult, Projects
from lora_lint.processes import Task, check_all
from lora_lint.rules import REGISTRY

FAULT = 'from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained("m", load_in_4bit=True)\n'
SETTINGS = [Settings(frozenset(REGISTRY))]
forked = pytest.mark.skipif(sys.platform != "linux", reason="needs processes that are copies of this one")


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Twelve files, of which every third has a fault, and which seem large enough for processes."""
    monkeypatch.setattr(processes, "LONGEST", 2)
    for i in range(12):
        (tmp_path / f"{i:02}.py").write_text(FAULT if i % 3 == 0 else "import torch\n", encoding="utf-8")
    return [Task(path, path.name, 0, processes.BYTES) for path in sorted(tmp_path.glob("*.py"))]


def test_order_and_results_are_those_of_one_process(tasks: list[Task]) -> None:
    seen: list[str] = []
    many = [result for result, _ in check_all(tasks, SETTINGS, 3, seen.append)]
    one = [result for result, _ in check_all(tasks, SETTINGS, 1, lambda _: None)]
    assert [(r.path, r.findings) for r in many] == [(r.path, r.findings) for r in one]
    assert [r.path for r in many] == [task.display for task in tasks] == seen
    assert [bool(r.findings) for r in many] == [i % 3 == 0 for i in range(12)]


@forked
def test_a_process_that_dies_costs_one_file(tasks: list[Task], monkeypatch: pytest.MonkeyPatch) -> None:
    real = engine.check_file

    def dying(path: Path, display: str, settings: Settings, projects: Projects) -> FileResult:
        if display in ("05.py", "08.py"):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(path, display, settings, projects)

    monkeypatch.setattr(engine, "check_file", dying)
    results = [result for result, _ in check_all(tasks, SETTINGS, 2, lambda _: None)]
    assert [r.path for r in results if r.error] == ["05.py", "08.py"]
    assert all("died" in r.error.message for r in results if r.error)
    assert [bool(r.findings) for r in results] == [i % 3 == 0 for i in range(12)]


def test_small_work_starts_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processes, "_executor", lambda *_: pytest.fail("a process for nothing"))
    (tmp_path / "a.py").write_text(FAULT)
    small = [Task(tmp_path / "a.py", "a.py", 0, 100)] * 3
    assert all(result.findings for result, _ in check_all(small, SETTINGS, 4, lambda _: None))
    large = [Task(tmp_path / "a.py", "a.py", 0, processes.BYTES)] * 2
    assert all(result.findings for result, _ in check_all(large, SETTINGS, 1, lambda _: None))


@forked
def test_an_interrupt_ends_all_at_once(tmp_path: Path) -> None:
    for i in range(40):
        (tmp_path / f"{i}.py").write_text(FAULT + "print(1)\n" * 3000, encoding="utf-8")
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "lora_lint", "--isolated", "--no-cache", "-j", "2", "."]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env={**os.environ, "PYTHONPATH": str(root)}
    )
    time.sleep(3)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors
    until = time.monotonic() + 5  # for those that are just ending
    while running(process.pid) and time.monotonic() < until:
        time.sleep(0.1)
    assert not running(process.pid)


def running(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_jobs_must_be_positive(program) -> None:  # type: ignore[no-untyped-def]
    assert program("check", "--jobs", "0", ".").returncode == 2
