"""Whole runs of the step, each in a process of its own: how a script is run, how it may end, and what is written then."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from verify.verify_scripts import BOOTSTRAP, LOOP, STEP, line_of, replaced, run_step

torch_there = importlib.util.find_spec("torch") is not None
pytestmark = pytest.mark.skipif(not torch_there, reason="needs torch")

TOY = """\
import torch
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net(torch.ones(2, 4)).sum().backward()
    opt.step()
"""


def test_a_script_is_run_as_python_runs_it(step: Any, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "beside.py").write_text("NUMBER = 7\n")
    seen = step(
        """
        import dataclasses, pickle, sys, os
        import __main__
        from beside import NUMBER
        @dataclasses.dataclass
        class Point:
            x: int = NUMBER
        assert pickle.loads(pickle.dumps(Point())).x == 7
        assert __main__.Point is Point and __name__ == "__main__" and __spec__ is None
        print(sys.argv[1:], os.path.basename(sys.argv[0]))
        print(sys.path[0] == os.path.dirname(__file__), "" in sys.path, "lora_lint" in sys.modules)
        """,
        argv=["--model", "x"],
    )
    assert seen["stdout"].strip() == "['--model', 'x'] train.py\nTrue False False"
    assert (seen["end"], seen["format"]) == ("finished", 1)
    assert seen["versions"]["torch"]
    assert seen["time"]["total"] >= seen["time"]["imports"] > 0
    assert seen["memory_mb"] > 50


def test_a_step_ends_the_script_and_nothing_after_it_runs(step: Any) -> None:
    seen = step(TOY + "print('after')\n")
    assert (seen["end"], seen["stdout"], seen["optimizer"]["line"]) == ("step", "", 6)
    assert "unseen" not in seen


def test_a_script_that_catches_everything_for_ever_is_ended(step: Any) -> None:
    loop = replaced(TOY, "for _ in range(3):\n    net", "while True:\n  try:\n    net")
    seen = step(f"{loop}  except:\n    pass\n")
    assert seen["end"] == "step"


def test_an_exception_is_told_with_the_frames_of_the_user(step: Any, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "beside.py").write_text("import torch\ndef train():\n    torch.nn.Linear(4, 1)(torch.ones(2, 3))\n")
    seen = step("import beside\n\nbeside.train()\n")
    assert (seen["end"], seen["exception"]["type"], seen["exception"]["stage"]) == ("exception", "RuntimeError", "forward")
    assert [(Path(name).name, line) for name, line in seen["exception"]["lines"]] == [("train.py", 3), ("beside.py", 3)]
    assert seen["exception"]["where"][-1].startswith("torch/nn/modules/linear.py:")
    assert seen["forwards"][0]["line"] == 3


@pytest.mark.parametrize(
    ("source", "end", "code", "error"),
    [
        ("import sys\nsys.exit(3)", "exit", 3, "SystemExit"),
        ("raise SystemExit", "exit", 0, None),
        ("import os\nos._exit(5)", "exit", 5, None),
        ("raise KeyboardInterrupt", "exception", None, "KeyboardInterrupt"),
        ("import sys\ntry:\n    1 / 0\nexcept Exception as e:\n    print(e)\n    sys.exit(1)", "exit", 1, "ZeroDivisionError"),
        ("def f(:\n    pass", "exception", None, "SyntaxError"),
    ],
)
def test_every_end_of_a_script_is_told(step: Any, source: str, end: str, code: int | None, error: str | None) -> None:
    seen = step(source)
    assert (seen["end"], seen.get("exit_code"), seen.get("exception", {}).get("type")) == (end, code, error)
    if error:
        assert seen["exception"]["lines"]


def test_what_was_seen_before_a_hard_end_is_kept(step: Any) -> None:
    seen = step(replaced(TOY, "    opt.step()", "    import os; os._exit(2)"))
    assert (seen["end"], seen["exit_code"]) == ("exit", 2)
    assert seen["gradients"]["with_grad"] == 2


def test_a_request_to_end_is_obeyed_and_tells_where_the_script_was(tmp_path: Path) -> None:
    script, root = tmp_path / "train.py", tmp_path / "root"
    root.mkdir()
    script.write_text("import time\nprint('ready', flush=True)\nwhile True: pass\n")
    seen = root / "seen.json"
    plan = {"script": str(script), "argv": [], "device": "cpu", "root": str(root), "seen": str(seen), "lock": False}
    (root / "plan.json").write_text(json.dumps(plan))
    process = subprocess.Popen([sys.executable, "-c", BOOTSTRAP, str(STEP), str(root / "plan.json")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.terminate()
        process.wait(20)
    finally:
        process.kill()
        process.wait()
    told = json.loads(seen.read_text())
    assert told["end"] == "timeout"
    assert told["running"] == [[str(script), 3]]


def test_another_text_runs_under_the_name_of_the_script(step: Any, tmp_path: Path) -> None:
    text = tmp_path / "other.txt"
    text.write_text("import inspect\ndef f():\n    return 1\nprint(__file__, inspect.getsource(f).strip())\n\n1 / 0\n")
    seen = step("raise ValueError", text=str(text))
    assert seen["exception"]["type"] == "ZeroDivisionError"
    assert seen["exception"]["lines"] == [[str(tmp_path / "project" / "train.py"), 6]]
    assert seen["stdout"].endswith("train.py def f():\n    return 1\n")


def test_a_library_that_does_not_import_ends_the_run_before_the_script(step: Any, tmp_path: Path) -> None:
    (tmp_path / "broken" / "torch").mkdir(parents=True)
    (tmp_path / "broken" / "torch" / "__init__.py").write_text("raise ImportError('no such library')")
    seen = step("print('ran')", environment={"PYTHONPATH": str(tmp_path / "broken")})
    assert (seen["end"], seen["exception"]["message"], seen["stdout"]) == ("imports failed", "no such library", "")


def test_training_libraries_that_the_script_does_not_name_are_not_imported(step: Any) -> None:
    seen = step("import sys\nprint([name for name in ('transformers', 'peft', 'trl', 'datasets') if name in sys.modules])\n")
    assert seen["stdout"] == "[]\n"


def test_the_whole_with_confinement(tmp_path: Path) -> None:
    from lora_lint.verify import launch

    script = tmp_path / "train.py"
    script.write_text(TOY)
    outcome = launch.run_step({"script": str(script), "argv": [], "device": "cpu", "gradcheck": True}, python=Path(sys.executable), timeout=100)
    assert outcome.end == "reported", (outcome.detail, outcome.output_tail)
    assert outcome.seen is not None
    assert outcome.seen["end"] == "step"
    assert outcome.seen["gradients"]["with_grad"] == 2


old_era = pytest.mark.skipif(not os.environ.get("LORA_LINT_OLD_ERA"), reason="LORA_LINT_OLD_ERA=interpreter:folder of libraries")


@old_era
def test_on_libraries_of_2024_reentrant_checkpointing_after_the_wrap_cuts_the_adapters(tmp_path: Path) -> None:
    python, _, libraries = os.environ["LORA_LINT_OLD_ERA"].partition(":")
    source = replaced(LOOP, "model.train()", "model.gradient_checkpointing_enable()\nmodel.train()")
    seen = run_step(tmp_path, source, python, {"PYTHONPATH": libraries})
    assert seen["exception"]["stage"] == "backward"
    assert seen["backward"]["model"] == 1
    assert seen["models"][0]["input_grads"] is False
    assert seen["forwards"][0]["checkpoint_reentrant"] == [True]
    assert seen["exception"]["lines"][-1][1] == line_of(source, "loss.backward()")
    assert any("None of the inputs have requires_grad" in text for text in seen["warnings"])


@old_era
def test_on_libraries_of_2024_an_overridden_state_dict_saves_an_empty_adapter(tmp_path: Path) -> None:
    python, _, libraries = os.environ["LORA_LINT_OLD_ERA"].partition(":")
    override = """\
from peft import get_peft_model_state_dict
old = model.state_dict
model.state_dict = (lambda self, *_, **__: get_peft_model_state_dict(self, old())).__get__(model, type(model))
model.save_pretrained("out")
"""
    seen = run_step(tmp_path, LOOP + override, python, {"PYTHONPATH": libraries}, until="save")
    assert seen["end"] == "step"
    assert [(save["tensors"], save["expected"]) for save in seen["saves"]] == [(0, 8)]
    assert seen["gradients"]["adapters_with_grad"] == 8
