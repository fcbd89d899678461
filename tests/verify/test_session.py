"""``--verify`` from the command line, on the libraries that are installed here."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lora_lint import codes
from lora_lint.cli import cli
from lora_lint.config import Settings
from lora_lint.engine import check_source
from lora_lint.findings import Finding
from lora_lint.source import Source
from lora_lint.verify.seen import BackwardSeen, Seen
from lora_lint.verify.session import Request, Session

SCRIPT = """import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

NAME = "meta-llama/Llama-2-7b-hf"
tokenizer = AutoTokenizer.from_pretrained(NAME)
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16, device_map="auto")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
model.train()
for step in range(100):
    batch = tokenizer(["hello there", "good day to you"], return_tensors="pt", padding=True){move}
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained("adapter")
"""
UNMOVED = SCRIPT.replace("{move}", "")
MOVED = SCRIPT.replace("{move}", '.to("cuda")')


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def verify(folder: Path, text: str, *arguments: str, name: str = "train.py") -> Result:
    (folder / name).write_text(text, encoding="utf-8")
    return CliRunner().invoke(cli, ["check", name, "--verify", "--verify-python", sys.executable, "--verify-device", "virtual", *arguments])


def test_a_fault_is_confirmed_and_its_fix_tried(folder: Path) -> None:
    done = verify(folder, UNMOVED, "--output-format", "json")
    assert done.exit_code == 1
    (finding,) = json.loads(done.stdout)
    made = finding["verification"]
    assert (finding["code"], made["verdict"], made["device"]) == ("LL303", "confirmed", "virtual cuda (1)")
    assert made["evidence"].startswith("RuntimeError: Expected all tensors to be on the same device")
    assert made["evidence"].endswith("at line 14")
    assert "torch" in made["versions"]
    assert "train.py: running it up to its first optimizer step" in done.stderr

    done = verify(folder, UNMOVED, "--fix")
    assert done.exit_code == 0, done.stderr
    assert "train.py:14: fix of LL303: kept, the step trains with it" in done.stderr
    assert ".to(model.device)" in (folder / "train.py").read_text(encoding="utf-8")
    assert [path.name for path in folder.iterdir() if path.name != ".git"] == ["train.py"]


def test_a_script_without_a_finding_gets_a_report(folder: Path) -> None:
    done = verify(folder, MOVED)
    assert done.exit_code == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines[1].startswith("train.py: one training step done, in ")
    assert "  model: LlamaForCausalLM in PeftModelForCausalLM, 8 of 29 tensors train, on cuda:0" in lines
    assert "  gradients: 8 of 8 trainable tensors, 8 of 8 of the adapters" in lines
    assert any(line.startswith("  replaced: tokenizer meta-llama/Llama-2-7b-hf (line 6) by ") for line in lines)


def test_a_refuted_finding_does_not_count(folder: Path) -> None:
    text = MOVED.replace("model.train()", "model.gradient_checkpointing_enable()\nmodel.train()")
    assert CliRunner().invoke(cli, ["check", "-"], input=text).exit_code == 1
    done = verify(folder, text)
    assert done.exit_code == 0, done.stdout
    assert "LL101" in done.stdout
    assert "  refuted (on torch " in done.stdout
    assert "Found 1 finding, 1 refuted." in done.stderr


def test_a_fault_that_no_rule_finds(folder: Path) -> None:
    done = verify(folder, MOVED.replace("loss.backward()", "loss = eval('loss.detach()')\n    loss.backward()"), "--output-format", "concise")
    assert done.exit_code == 1
    assert done.stdout.startswith("train.py:16:1: error LL800 step-failed: ")
    assert "element 0 of tensors does not require grad" in done.stdout


def test_a_comment_silences_it(folder: Path) -> None:
    loss = "loss = eval('loss.detach()')\n    loss.backward()  # lora-lint: ignore[LL800] on purpose"
    done = verify(folder, MOVED.replace("loss.backward()", loss))
    assert (done.exit_code, done.stdout) == (0, "")


def test_what_is_left_after_fixes_keeps_its_verdict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "train.py"
    file.write_text(UNMOVED.replace("model.train()", "model.gradient_checkpointing_enable()\nmodel.train()"), encoding="utf-8")
    source = Source.read(file)
    enabled = frozenset(codes.names())

    def check(changed: Source) -> list[Finding]:
        found = check_source(changed, Settings(enabled)).findings
        return [replace(finding, fix=None) if finding.code == "LL101" else finding for finding in found]

    step = Seen(str(file), "step", backward=BackwardSeen(line=17))
    monkeypatch.setattr(Session, "_run", lambda *_: step)
    tried = Session(Request(), print).fix(source, check(source), check, None, False, enabled)
    assert [finding.code for finding in tried.kept] == ["LL303"]
    assert [(finding.code, finding.verification is not None) for finding in tried.left] == [("LL101", True)]


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU")
def test_without_a_gpu_cuda_is_refused(folder: Path) -> None:
    (folder / "train.py").write_text(MOVED, encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", "train.py", "--verify", "--verify-python", sys.executable, "--verify-device", "cuda"])
    assert done.exit_code == 2
    assert f"error: --verify-device cuda: there is no GPU that {sys.executable} can use; --verify-device virtual needs none\n" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((".", "--verify"), "--verify executes scripts, so name them: . is a folder"),
        (("train.py", "--verify-args", "x"), "--verify-args says how --verify runs the script: give --verify, too"),
        (("-", "--verify"), "--verify executes a script, so it needs a file, not standard input"),
        (("train.py", "--verify", "--verify-args", "'"), "--verify-args \"'\": No closing quotation"),
        (("train.py", "--verify", "--verify-python", "/no/python"), "there is no interpreter /no/python: name that of your training environment"),
        (("n.ipynb", "--verify"), "n.ipynb: --verify runs scripts, not notebooks"),
    ],
)
def test_what_cannot_be_run_is_one_line(folder: Path, arguments: tuple[str, ...], text: str) -> None:
    (folder / "train.py").write_text(MOVED, encoding="utf-8")
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": MOVED}
    (folder / "n.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}), encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", *arguments])
    assert (done.exit_code, done.stdout) == (2, "")
    assert text in done.stderr
    assert len([line for line in done.stderr.splitlines() if "error" in line.lower()]) == 1
