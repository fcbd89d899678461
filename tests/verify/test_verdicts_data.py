"""Verdicts on tokens and labels. The findings are those of the rules' own examples; what was seen is written down here."""

from __future__ import annotations

import pytest

from .test_verdicts import CONFIRMED, FINE, NOT_REACHED, backward, found, line, raised, verdict


def test_ll505_is_confirmed_by_the_loss_that_is_missing() -> None:
    finding = found("LL505", "02")
    at = line(finding, "training")
    text = "The model did not return a loss from the inputs, only the following keys: logits."
    assert verdict(finding, **raised("ValueError", text, at)) == (CONFIRMED, f"ValueError: {text} at line {at}")
    assert verdict(finding, **raised("ValueError", text, at + 40))[0] is NOT_REACHED
    assert verdict(finding, gradients=[FINE], backward=backward(at, finite=False))[0] is NOT_REACHED


def test_ll505_over_rows_is_confirmed_by_a_loss_that_is_no_number() -> None:
    finding = found("LL505")
    nan = backward(24, finite=False)
    assert verdict(finding, backward=nan) == (CONFIRMED, "the loss is not finite at the backward pass at line 24")
    assert verdict(finding, backward={**nan, "finite": True})[0] is NOT_REACHED


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("LL506", "a training step does not look at single labels"),
        ("LL507", "a training step runs with a stand-in for the tokenizer"),
        ("LL510", "a training step does not generate"),
        ("LL513", "a training step runs with a stand-in for the tokenizer"),
    ],
)
def test_what_a_step_says_nothing_about(code: str, why: str) -> None:
    assert verdict(found(code), gradients=[FINE]) == (NOT_REACHED, why)
