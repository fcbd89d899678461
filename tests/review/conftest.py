"""A repository on a loopback GitHub, and the bot run against it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from lora_lint.cli import cli
from review.fake_github import Repository, serve, start

LOAD = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

NAME = "facebook/opt-350m"
tokenizer = AutoTokenizer.from_pretrained(NAME)
model = AutoModelForCausalLM.from_pretrained(NAME, device_map="auto")
"""
MOVE = "model = model.cuda()\n"
WRAP = 'model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))\n'


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Its target branch has a script without a finding; the branch ``topic`` starts there."""
    made = start(tmp_path / "repository")
    made.commit("--orphan=main", {"train.py": LOAD + WRAP, "README.md": "x\n"})
    made.commit("-btopic", {"README.md": "y\n"})
    return made


@dataclass(frozen=True)
class Done:
    """What a run came to."""

    returncode: int
    stdout: str
    stderr: str


Bot = Callable[..., Done]


@pytest.fixture
def bot(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bot]:
    """Runs `lora-lint review` as a workflow does; violations of the API's description fail the test."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"repository": {"full_name": "o/r"}, "pull_request": {"number": 7, "head": {"repo": None}}}), encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "GITLAB_", "CI", "GH_")):
            monkeypatch.delenv(name)
    with serve(repository) as address:
        given = {"GITHUB_ACTIONS": "true", "GITHUB_API_URL": address, "GITHUB_TOKEN": "t", "GITHUB_EVENT_PATH": str(event)}
        given |= {"GITHUB_REPOSITORY": "o/r", "LORA_LINT_RAISE": "1"}

        def run(*arguments: str, **variables: str) -> Done:
            done = CliRunner().invoke(cli, ["review", *arguments], env={**given, **variables}, catch_exceptions=False)
            return Done(done.exit_code, done.stdout, done.stderr)

        yield run
    assert not repository.violations
