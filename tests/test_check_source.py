"""``lora_lint.check_source``: pure, and cheap to have at hand."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import lora_lint
from lora_lint.config import Config, Overrides, settings

FAULT = 'from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained("m", load_in_4bit=True)\n'


def test_it_finds_what_the_program_finds() -> None:
    found = lora_lint.check_source(FAULT, "train.py")
    assert [(f.code, f.path, f.span.start.line) for f in found] == [("LL203", "train.py", 2)]
    assert lora_lint.check_source(FAULT, "train.py") == found
    assert pickle.loads(pickle.dumps(found)) == found


def test_settings_hold_and_travel() -> None:
    chosen = settings(Config(Path()), Overrides(target=("transformers==4.44.2",)))
    assert lora_lint.check_source(FAULT, "train.py", chosen) == []
    assert lora_lint.check_source(FAULT, "train.py", pickle.loads(pickle.dumps(chosen))) == []


def test_a_notebook_by_its_name() -> None:
    cell = {"cell_type": "code", "source": FAULT, "metadata": {}, "outputs": [], "execution_count": None}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert [f.code for f in lora_lint.check_source(text, "train.ipynb")] == ["LL203"]


@pytest.mark.parametrize("text", ["", "\0", "import torch\nloss.backward(\n", "# -*- coding: latin-1 -*-\n", "\ud800", "(" * 5000])
def test_it_raises_for_no_text(text: str) -> None:
    assert isinstance(lora_lint.check_source(text), list)


def test_nothing_beside_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lora-lint.toml").write_text('ignore = ["LL203"]\n')
    (tmp_path / "requirements.txt").write_text("transformers==4.44.2\n")
    assert [f.code for f in lora_lint.check_source(FAULT, "train.py")] == ["LL203"]


def test_the_import_costs_nothing() -> None:
    code = "import sys; before = set(sys.modules); import lora_lint; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    assert set(eval(done.stdout)) <= {"lora_lint", "__future__"}
