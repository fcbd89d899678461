"""The scenarios, run on the libraries that are installed here, say what the facts say about these versions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lora_lint.target import LIBRARIES
from lora_lint.versions import facts
from matrix.matrix import Answer, ask, eras, known_texts, measure, surprises

# Checkpointing has to need input gradients for these to be asked, and on transformers 5 it does not.
SILENT = {"sft-config-leaves-inputs", "sft-leaves-wrapped-model"}


@pytest.fixture(scope="module")
def answers() -> list[Answer]:
    """One worker's answers to all scenarios."""
    return ask(Path(sys.executable), [], sorted(facts()))


def test_all_libraries_are_installed(answers: list[Answer]) -> None:
    assert not [library for library in LIBRARIES if not getattr(answers[0].row, library)]


def test_the_installed_versions_do_what_the_facts_say(answers: list[Answer]) -> None:
    assert surprises(answers, known_texts()) == []


def test_only_what_makes_no_sense_here_is_not_asked(answers: list[Answer]) -> None:
    assert {answer.row.fact for answer in answers if answer.row.outcome == "null"} == SILENT


def test_models_are_really_quantized_here(answers: list[Answer]) -> None:
    how = {answer.row.fact: answer.row.how for answer in answers}
    assert [how[name] for name in ("kbit-8bit-cuda-refused", "kbit-cast-refused", "kbit-dtype-refused")] == ["run"] * 3


def test_a_scenario_that_breaks_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenarios = {"raises": "raise OSError('no disk')", "silent": "pass", "dies": "import os; os.abort()"}
    for name, text in scenarios.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr("matrix.matrix.scenario", lambda name: tmp_path / f"{name}.py")
    broken = {answer.row.fact: answer for answer in ask(Path(sys.executable), [], [*scenarios])}
    assert all(answer.broken for answer in broken.values())
    assert broken["raises"].why == "OSError: no disk (raises.py:1)"


@pytest.mark.matrix
@pytest.mark.parametrize("era", eras(), ids=lambda era: era["transformers"])
def test_every_era_does_what_the_facts_say(era: dict[str, str]) -> None:
    """Installs the era in the cache folder of the matrix: slow, and needs the package index."""
    assert surprises(measure(era, sorted(facts())), known_texts()) == []
