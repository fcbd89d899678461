"""One script under several targets, as the command line sees them."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from lora_lint.cli import cli
from lora_lint.config import ConfigError

TRAINER_CHECKPOINTING = """
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

    model = AutoModelForCausalLM.from_pretrained("facebook/opt-350m")
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
    args = TrainingArguments(
        output_dir="out",
        gradient_checkpointing=True,
    )
    Trainer(model=model, args=args, train_dataset=data).train()
"""

FILTERED_STATE_DICT = """
    from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
    from transformers import AutoModelForCausalLM, Trainer

    model = get_peft_model(AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b"), LoraConfig(task_type="CAUSAL_LM"))
    trainer = Trainer(model=model, train_dataset=data)
    old_state_dict = model.state_dict
    model.state_dict = (lambda self, *_, **__: get_peft_model_state_dict(self, old_state_dict())).__get__(model, type(model))
    trainer.train()
    model.save_pretrained("out")
"""


class Found(NamedTuple):
    code: str
    severity: str
    versions: str


class Lint:
    """A repository in a temporary folder, and the findings of a script in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / ".git").mkdir()

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")

    def run(self, *arguments: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(cli, arguments)
        return done.exit_code, done.stdout, done.stderr

    def findings(self, *arguments: str) -> list[Found]:
        done = CliRunner().invoke(cli, ["check", *arguments, "--output-format", "json"])
        assert done.exit_code in (0, 1), done.output
        return [Found(item["code"], item["severity"], item["versions"]) for item in json.loads(done.stdout)]


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    monkeypatch.chdir(tmp_path)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    return Lint(tmp_path)


def test_three_targets_three_answers(lint: Lint) -> None:
    lint.write("train.py", TRAINER_CHECKPOINTING)
    old = lint.findings("train.py", "--target", "transformers==4.44.2")
    assert old == [Found("LL101", "error", "on transformers 4.44.2 (--target); it would not on transformers >= 5.0.0")]
    assert lint.findings("train.py", "--target", "transformers==5.23.0") == []
    lint.write("requirements.txt", "datasets\n# models\ntransformers>=4.40\n")
    found = lint.findings("train.py")
    assert [(one.code, one.severity) for one in found] == [("LL101", "warning")]
    assert found[0].versions.startswith("on transformers < 5.0.0, which requirements.txt:3 (transformers 4.40.0 to ")


def test_a_filtered_state_dict_fails_on_old_peft_only(lint: Lint) -> None:
    lint.write("train.py", FILTERED_STATE_DICT)
    lint.write("requirements.txt", "peft==0.12.0\n")
    assert [(one.code, one.severity) for one in lint.findings("train.py")] == [("LL406", "error")]
    lint.write("requirements.txt", "peft==0.21.2\n")
    assert lint.findings("train.py") == []


def test_what_stands_nearer_wins_and_the_command_line_wins_over_all(lint: Lint) -> None:
    lint.write("requirements.txt", "transformers==5.23.0\n")
    lint.write("old/requirements.txt", "transformers==4.44.2\n")
    lint.write("train.py", TRAINER_CHECKPOINTING)
    lint.write("old/train.py", TRAINER_CHECKPOINTING)
    assert lint.findings("train.py") == []
    assert [one.severity for one in lint.findings("old/train.py")] == ["error"]
    assert [one.severity for one in lint.findings(".")] == ["error"]
    assert lint.findings("old/train.py", "--target", "transformers==5.0.0") == []
    assert [one.severity for one in lint.findings("train.py", "--target", "any")] == ["warning"]


def test_the_settings_win_over_the_files_around(lint: Lint) -> None:
    lint.write("requirements.txt", "transformers==5.23.0\n")
    lint.write("train.py", TRAINER_CHECKPOINTING)
    lint.write("lora-lint.toml", '[target]\ntransformers = "4.44.2"\n')
    assert [one.versions[:40] for one in lint.findings("train.py")] == ["on transformers 4.44.2 (lora-lint.toml);"]
    lint.write("lora-lint.toml", 'target = "any"\n')
    assert [one.severity for one in lint.findings("train.py")] == ["warning"]


def test_the_script_itself_says_its_versions(lint: Lint) -> None:
    lint.write("requirements.txt", "transformers==5.23.0\n")
    block = '# /// script\n# dependencies = [\n#   "transformers==4.44.2",\n# ]\n# ///\n'
    lint.write("train.py", block + textwrap.dedent(TRAINER_CHECKPOINTING))
    assert [one.versions[:39] for one in lint.findings("train.py")] == ["on transformers 4.44.2 (train.py:3); it"]


def environment(root: Path, **versions: str) -> Path:
    """A folder laid out as a virtual environment with the metadata of some libraries."""
    packages = root / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (root / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.7\n", encoding="utf-8")
    (root / "bin").mkdir()
    (root / "bin" / "python").touch()
    for name, version in versions.items():
        info = packages / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    return root


def test_the_installed_environment(lint: Lint) -> None:
    lint.write("train.py", TRAINER_CHECKPOINTING)
    lint.write("requirements.txt", "transformers==5.23.0\n")
    old = environment(lint.root / "envs" / "old", transformers="4.44.2", peft="0.12.0")
    for arguments in (["--python", str(old / "bin" / "python")], ["--target", "installed", "--python", "envs/old"]):
        found = lint.findings("train.py", *arguments)
        assert [(one.code, one.severity) for one in found] == [("LL101", "error")]
        assert "envs/old" in found[0].versions
    environment(lint.root / ".venv", transformers="4.44.2")
    assert [one.severity for one in lint.findings("train.py", "--target", "installed")] == ["error"]
    assert lint.findings("train.py", "--target", "installed", "--target", "transformers==5.0.0") == []
    wrong = CliRunner().invoke(cli, ["check", "train.py", "--python", "nowhere/python"])
    assert isinstance(wrong.exception, ConfigError)
    assert str(wrong.exception) == "no such interpreter or environment: nowhere/python"


def test_the_derivation_is_shown(lint: Lint) -> None:
    lint.write("requirements.txt", "transformers>=4.40\nfoo bar!!\npeft\n")
    lint.write("jobs/requirements.txt", "transformers==4.44.2\n")
    lint.write("jobs/train.py", TRAINER_CHECKPOINTING)
    status, text, errors = lint.run("target", "jobs/train.py")
    assert status == 0
    rows = [line.split() for line in text.splitlines()]
    assert ["transformers", "4.44.2", "jobs/requirements.txt:1"] in rows
    assert next(row for row in rows if row[:1] == ["peft"])[-1] == "version"
    assert next(row for row in rows if row[:1] == ["trl"])[-2:] == ["named", "nowhere"]
    assert [row[2] for row in rows if row[:1] == ["transformers"]][1:] == ["jobs/requirements.txt:1", "requirements.txt:1"]
    assert "requirements.txt:2" in errors
    status, text, _ = lint.run("target", "jobs/train.py", "--output-format", "json")
    data = json.loads(text)
    assert data["target"]["transformers"] == {"known": True, "releases": ["4.44.2"], "origin": "jobs/requirements.txt:1"}
    assert [(said["library"], said["used"]) for said in data["said"]] == [("transformers", True), ("transformers", False), ("peft", True)]
    assert lint.run("target", "nowhere.py") == (2, "", "Error: nowhere.py: cannot read: No such file or directory\n")
