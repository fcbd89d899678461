"""Verdicts on what only a run in several processes shows."""

from __future__ import annotations

import pytest

from lora_lint.findings import Verdict
from verify.test_verdicts import found, line, raised, verdict

ERRORS = {
    "LL307": ("ValueError", "You can't train a model that has been loaded with `device_map='auto'` in any distributed mode."),
    "LL508": ("RuntimeError", "Expected to mark a variable ready only once. This error is caused by one of the following reasons: …"),
    "LL509": ("ValueError", "DeepSpeed Zero-3 is not compatible with passing a `device_map`."),
    "LL512": ("ValueError", "Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`"),
}


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_its_own_error_confirms(code: str) -> None:
    finding = found(code)
    kind, message = ERRORS[code]
    answer, evidence = verdict(finding, **raised(kind, message, line(finding), "before the step"))
    assert answer is Verdict.CONFIRMED
    assert message[:40] in evidence


@pytest.mark.parametrize("code", [*sorted(ERRORS), "LL511"])
@pytest.mark.parametrize("message", ["", "Default process group has not been initialized"])
def test_a_step_in_one_process_does_not_decide(code: str, message: str) -> None:
    ended = raised("ValueError", message, stage="before the step") if message else {}
    answer, evidence = verdict(found(code), **ended)
    assert answer is Verdict.NEEDS
    assert "several processes" in evidence
