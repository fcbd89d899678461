"""Severity is set arithmetic on versions."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from lora_lint import versions
from lora_lint.target import Target
from lora_lint.versions import ALWAYS, F, Fact, Level, facts, judge


def target(*specs: str) -> Target:
    return Target.parse([(s, "--target") for s in specs])


REENTRANT = "reentrant-checkpointing-needs-input-grads"


@pytest.mark.parametrize(
    ("specs", "level"),
    [
        (("transformers==4.44.2",), Level.ALL),
        (("transformers==5.23.0",), Level.NONE),
        (("transformers>=4.40",), Level.SOME),
        (("transformers<5",), Level.ALL),
        ((), Level.SOME),
    ],
)
def test_one_fact(specs: tuple[str, ...], level: Level) -> None:
    assert judge(F(REENTRANT), target(*specs)).level is level


def test_expressions_over_two_libraries() -> None:
    both = F(REENTRANT) & F("sft-leaves-wrapped-model")
    assert judge(both, target("transformers==4.44.2", "trl==0.11.4")).level is Level.ALL
    assert judge(both, target("transformers==4.57.6", "trl==0.24.0")).level is Level.NONE
    either = F("kbit-8bit-to-refused") | F("kbit-8bit-immovable")
    assert judge(either, target("transformers==5.23.0", "bitsandbytes==0.47.0")).level is Level.ALL
    assert judge(either, target("transformers==5.23.0", "bitsandbytes==0.50.2")).level is Level.NONE
    assert judge(~F(REENTRANT), target("transformers==5.23.0")).level is Level.ALL


def test_the_words_name_range_and_origin() -> None:
    assert judge(F(REENTRANT), target("transformers==4.44.2")).text == "on transformers 4.44.2 (--target); it would not on transformers >= 5.0.0"
    assert judge(ALWAYS, target()).text == "on every supported version"
    assert "not pinned" in judge(F(REENTRANT), target()).text


def test_every_fact_says_how_it_is_known() -> None:
    for fact in facts().values():
        assert fact.says, fact.name
        assert fact.measured, fact.name
        assert all(len(held) >= 1 for held in fact.ranges.values()), fact.name


PAIR = Fact(
    "pair", {"bitsandbytes": SpecifierSet("<0.48.0"), "transformers": SpecifierSet(">=5.0.0")}, says="", message="", measured="", source=""
)


@pytest.mark.parametrize(
    ("specs", "level"),
    [
        (("bitsandbytes==0.47.0", "transformers==5.23.0"), Level.ALL),
        (("bitsandbytes==0.47.0", "transformers==4.57.6"), Level.NONE),
        (("bitsandbytes==0.48.0",), Level.NONE),
        (("bitsandbytes==0.47.0",), Level.SOME),
    ],
)
def test_a_fact_about_a_pair_of_versions(specs: tuple[str, ...], level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "facts", lambda: {"pair": PAIR})
    verdict = judge(F("pair"), target(*specs))
    assert verdict.level is level
    if level is Level.SOME:
        assert verdict.text == "on bitsandbytes < 0.48.0 with transformers >= 5.0.0, which --target (bitsandbytes 0.47.0) allows"


def test_what_stands_in_a_file_allows_is_said_with_its_line() -> None:
    allowed = Target.parse([("transformers>=4.40,<5.1", "requirements.txt:3")])
    assert judge(F(REENTRANT), allowed).text == "on transformers < 5.0.0, which requirements.txt:3 (transformers 4.40.0 to 5.0.0) allows"
