"""Starting the child of ``--verify`` and getting it back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from lora_lint.verify import launch
from lora_lint.verify.launch import check_python, find_python, run_step

REPORT = """
import json, sys
plan = json.load(open(sys.argv[2]))
def report(**seen):
    with open(plan["seen"], "w") as file:
        json.dump(seen, file)
"""
PYTHON = Path(sys.executable)


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where scratch folders are made; at the end there is none."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment without any library."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=os.name != "nt")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def test_a_report_comes_back(tmp_path: Path) -> None:
    outcome = run_step({"script": "/x/train.py"}, python=PYTHON, timeout=20, bootstrap=REPORT + "report(end='step', plan=plan)\nprint('hello')")
    assert (outcome.end, outcome.detail) == ("reported", "one optimizer step was done")
    assert outcome.output_tail == "hello\n"
    assert outcome.seen is not None
    plan = outcome.seen["plan"]
    assert plan["script"] == "/x/train.py"
    assert plan["root"].startswith(str(tmp_path))
    assert plan["seen"].startswith(plan["root"])
    assert outcome.confinement
    assert 0 < outcome.seconds < 20


def test_the_step_is_what_runs_when_nothing_else_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = tmp_path / "step"
    step.mkdir()
    (step / "__init__.py").write_text("")
    (step / "helper.py").write_text("import sys\nNAMES = [name for name in sys.modules if name.startswith('lora_lint')]\n")
    (step / "main.py").write_text(
        "import json\nfrom .helper import NAMES\ndef main(path):\n    plan = json.load(open(path))\n"
        "    json.dump({'end': 'step', 'names': NAMES}, open(plan['seen'], 'w'))\n"
    )
    monkeypatch.setattr(launch, "_STEP", step)
    outcome = run_step({}, python=PYTHON, timeout=20)
    assert outcome.seen is not None, outcome
    assert sorted(outcome.seen["names"]) == ["lora_lint_step", "lora_lint_step.helper", "lora_lint_step.main"]


@pytest.mark.parametrize(
    ("seen", "detail"),
    [
        ({"end": "finished"}, "the script ran to its end without an optimizer step"),
        ({"end": "exit", "exit_code": 2}, "the script ended itself with status 2 before its first step"),
        (
            {"end": "exception", "exception": {"type": "ValueError", "message": "bad\nworse", "lines": [["/x/a.py", 3], ["/x/b.py", 9]]}},
            "ValueError at line 9: bad",
        ),
        (
            {"end": "exception", "exception": {"type": "EOFError", "message": "EOF when reading a line", "lines": [["/x/a.py", 3]]}},
            "the script waits for input at line 3, and --verify gives it none",
        ),
        ({"end": "imports failed", "exception": {"type": "ImportError", "message": "no", "lines": "?"}}, "ImportError: no"),
        ({"end": 7, "exception": None}, "7"),
    ],
)
def test_a_report_is_told_in_one_line(seen: dict[str, object], detail: str) -> None:
    assert launch._told(seen) == detail


@pytest.mark.parametrize("text", ["", "{", "[1]", "[" * 100_000, "\\xff"])
def test_a_report_that_is_none_is_no_report(text: str) -> None:
    outcome = run_step({}, python=PYTHON, timeout=20, bootstrap=REPORT + f"open(plan['seen'], 'w').write({text!r})")
    assert (outcome.end, outcome.seen) == ("no report", None)


def test_a_report_that_points_elsewhere_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"end": "step"}')
    outcome = run_step({}, python=PYTHON, timeout=20, bootstrap=REPORT + f"import os\nos.symlink({str(tmp_path / 'other.json')!r}, plan['seen'])")
    assert outcome.end == "no report"


@pytest.mark.parametrize("kernel", [True, False])
def test_an_interpreter_that_is_not_there_cannot_start(tmp_path: Path, kernel: bool) -> None:
    outcome = run_step({}, python=tmp_path / "no" / "python", timeout=20, kernel=kernel)
    assert outcome.end == "cannot start"
    assert str(tmp_path / "no" / "python") in outcome.detail
    assert "\n" not in outcome.detail


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_an_interpreter_that_is_no_program_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("not a program")
    assert run_step({}, python=tmp_path / "python", timeout=20).end == "cannot start"
    (tmp_path / "python").chmod(0o755)
    assert run_step({}, python=tmp_path / "python", timeout=20).end == "cannot start"


def test_no_room_for_a_scratch_folder_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    outcome = run_step({}, python=PYTHON, timeout=20)
    assert (outcome.end, outcome.detail) == ("cannot start", "no scratch folder can be made: No such file or directory")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_when_the_parent_is_interrupted_or_killed_nothing_is_left(tmp_path: Path, scratch: Path, number: signal.Signals) -> None:
    started = tmp_path / "started"
    code = f"""
import sys, tempfile
from pathlib import Path
from lora_lint.verify.launch import run_step
tempfile.tempdir = {str(scratch)!r}
run_step({{}}, python=Path(sys.executable), timeout=60, bootstrap="import time; print('on', flush=True); time.sleep(60)")
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not processes(str(scratch)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes(str(scratch))
    assert not started.exists()
    parent.send_signal(number)
    parent.wait(10)
    while (list(scratch.iterdir()) or processes(str(scratch))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(scratch.iterdir()) == []
    assert processes(str(scratch)) == []


def processes(mark: str) -> list[str]:
    """The processes whose command line holds ``mark`` as the path of a plan."""
    listing = subprocess.run(["ps", "-eo", "pid,args", "-ww"], capture_output=True, text=True).stdout
    return [line for line in listing.splitlines() if mark in line and "plan.json" in line]


def test_the_interpreter_given_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    assert find_python(tmp_path / "python", Path("train.py")) == tmp_path / "python"


def environment_at(folder: Path, *packages: str) -> Path:
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    for name in packages:
        (folder / "lib" / "python3.11" / "site-packages" / name).mkdir(parents=True)
    return python


@pytest.mark.skipif(os.name != "posix", reason="layout of POSIX")
def test_the_nearest_environment_with_torch_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    script = tmp_path / "project" / "scripts" / "train.py"
    assert find_python(None, script) == PYTHON
    conda = environment_at(tmp_path / "conda", "torch")
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    assert find_python(None, script) == conda
    above = environment_at(tmp_path / "project" / ".venv", "torch", "transformers")
    environment_at(tmp_path / "project" / "scripts" / "venv", "numpy")
    assert find_python(None, script) == above


def test_what_is_missing_is_named_with_the_cure(bare: Path) -> None:
    assert check_python(bare) == (
        f"torch and transformers are not installed for {bare}: pip install 'lora-lint[verify]', "
        "or name your training environment with --verify-python"
    )


def test_what_is_there_is_not_missing(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "transformers"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError('imported')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert check_python(bare) is None


def test_an_interpreter_that_is_none_is_said_in_one_line(tmp_path: Path) -> None:
    assert check_python(tmp_path / "python") == (
        f"there is no interpreter {tmp_path / 'python'}: name that of your training environment with --verify-python"
    )
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o755)
    answer = check_python(tmp_path / "text")
    assert answer is not None
    assert "\n" not in answer
    assert "--verify-python" in answer


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, lora_lint.verify; print(*(n for n in ('subprocess', 'ctypes', 'lora_lint.verify.launch') if n in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == ""
