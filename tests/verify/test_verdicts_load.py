"""Verdicts on what is merged, saved and loaded. The findings are those of the rules' own examples; what was seen is written down here."""

from __future__ import annotations

import pytest

from .test_verdicts import CONFIRMED, FINE, NOT_REACHED, REFUTED, found, line, model, raised, verdict


def test_ll407_is_confirmed_by_the_refusal_and_refuted_by_a_step() -> None:
    finding = found("LL407")
    at = line(finding)
    text = "You passed a `PeftModel` instance together with a `peft_config` to the trainer."
    answer, evidence = verdict(finding, **raised("ValueError", text, at, stage="before the step"))
    assert answer is CONFIRMED
    assert evidence == f"ValueError: {text} at line {at}"
    assert verdict(finding, models=[model(at)])[0] is REFUTED
    assert verdict(finding, models=[model(at + 50)])[0] is NOT_REACHED


def test_ll409_counts_what_a_save_writes() -> None:
    finding = found("LL409")
    at = line(finding, "saved")
    empty = {"line": at, "method": "save_pretrained", "tensors": 0, "expected": 0}
    assert verdict(finding, saves=[empty]) == (CONFIRMED, f"save_pretrained at line {at} writes no tensor")
    assert verdict(finding, saves=[{**empty, "tensors": 290}]) == (REFUTED, f"save_pretrained at line {at} writes 290 tensors")
    assert verdict(finding, saves=[{**empty, "line": at + 40}])[0] is NOT_REACHED


@pytest.mark.parametrize("code", ["LL413", "LL414", "LL415", "LL416", "LL417"])
def test_lost_keys_are_not_seen_in_a_step(code: str) -> None:
    assert verdict(found(code), gradients=[FINE]) == (NOT_REACHED, "a training step says nothing about what a later load finds")


def test_ll503_is_confirmed_by_the_scaler_and_never_refuted() -> None:
    finding = found("LL503")
    text = "Attempting to unscale FP16 gradients."
    assert verdict(finding, **raised("ValueError", text, 60)) == (CONFIRMED, f"ValueError: {text} at line 60")
    assert verdict(finding, models=[model(line(finding))], gradients=[FINE])[0] is NOT_REACHED


def test_ll514_is_not_seen_on_small_models() -> None:
    assert verdict(found("LL514"), gradients=[FINE]) == (NOT_REACHED, "a training step does without the kernels of FlashAttention")


def test_ll412_is_not_seen_in_a_step() -> None:
    assert verdict(found("LL412"), gradients=[FINE]) == (NOT_REACHED, "a training step does not show what the configuration was given")
