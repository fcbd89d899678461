"""Verdicts on rules about modes and quantized bases."""

from __future__ import annotations

from lora_lint.verify.verdicts import decide
from tests.verify.test_verdicts import NOT_REACHED, found, run


def test_a_step_says_nothing_about_the_mode_of_later_turns() -> None:
    answer = decide(found("LL107"), run())
    assert answer.verdict is NOT_REACHED
    assert "later turns" in answer.evidence
