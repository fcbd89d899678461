"""Verdicts on LL505 to LL513: tokens, padding and labels."""

from __future__ import annotations

from lora_lint.findings import Verdict
from lora_lint.verify.verdicts.look import Answer, Look, at_line, confirmed_by, verdict_on

NO_LOSS = "did not return a loss from the inputs"


@verdict_on("LL505")
def _labels(look: Look) -> Answer:
    """Whether the trainer missed the loss, or the loss over masked rows is no number."""
    error, backward = look.seen.exception, look.seen.backward
    if look.finding.failure is not None:
        if error is not None and error.says(NO_LOSS) and look.hit(error):
            return confirmed_by(look, error)
        return look.unreached("that the loss of this trainer is missing")
    if backward is not None and backward.finite is False:
        return Answer(Verdict.CONFIRMED, f"the loss is not finite at the backward pass{at_line(backward.line)}")
    return look.unreached("a batch of which all rows are masked")


@verdict_on("LL506")
def _eos(look: Look) -> Answer:
    return Answer(Verdict.NOT_REACHED, "a training step does not look at single labels")


@verdict_on("LL507", "LL513")
def _tokens(look: Look) -> Answer:
    return Answer(Verdict.NOT_REACHED, "a training step runs with a stand-in for the tokenizer")


@verdict_on("LL510")
def _generation(look: Look) -> Answer:
    return Answer(Verdict.NOT_REACHED, "a training step does not generate")
