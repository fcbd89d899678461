"""Verdicts on LL2xx: what happened to the quantized base."""

from __future__ import annotations

from lora_lint.findings import Finding, Verdict
from lora_lint.verify.verdicts.look import Answer, Look, confirmed_by, frozen_adapters, gradient_counts, starved_by_checkpointing, verdict_on


@verdict_on("LL201")
def _unprepared(look: Look) -> Answer:
    """As LL101 with a quantized base; where it trains, the types of what is not quantized."""
    model, gradients = look.model, look.gradients
    if not look.mine:
        return look.unreached("the model of this finding")
    if model is not None and model.prepared_kbit:
        return look.absent("prepare_model_for_kbit_training was called on this model", here=look.ran())
    if model is not None and not model.quantized and look.forward is not None:
        return Answer(Verdict.NOT_REACHED, "the model of this run was not quantized")
    found = starved_by_checkpointing(look)
    if found is not None or model is None or gradients is None or not gradients.learned:
        return found or look.unreached("why gradients are missing")
    base = f"{gradient_counts(gradients)}, on a base in {model.quantized} bits that nothing prepared"
    half = "" if model.half is None else f", {model.half} of its tensors in half precision"
    if _says_it_fails(look.finding) and look.forward is not None and not look.forward.checkpoint_calls:
        return Answer(Verdict.NOT_REACHED, f"{base}, but no checkpointing ran in the forward")
    if _says_it_fails(look.finding) or model.half == 0:
        return look.absent(base + half, here=look.ran())
    return Answer(Verdict.CONFIRMED, base + half)


@verdict_on("LL202")
def _prepared_late(look: Look) -> Answer:
    """Whether the adapters were frozen when training began, or got gradients after the preparation."""
    prepared = look.model is not None and look.model.prepared_kbit is True
    return frozen_adapters(look, here=prepared and look.ran("attached"))


@verdict_on("LL203")
def _keyword(look: Look) -> Answer:
    """Whether the loader refused the keyword."""
    error = look.seen.exception
    refused = error is not None and error.type in ("TypeError", "ValueError") and error.says("load_in_4bit", "load_in_8bit")
    if error is not None and refused and look.hit(error):
        return confirmed_by(look, error)
    if look.sure and not look.hit(error):
        return look.absent("the load passed")
    return look.unreached("this load")


def _says_it_fails(finding: Finding) -> bool:
    """Whether a finding of LL201 is of a crash or of missing gradients, and not of what is merely not prepared."""
    return finding.failure is not None or "no gradient" in finding.message
