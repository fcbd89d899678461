"""Verdicts on LL4xx: which adapters train, and what a save of them holds."""

from __future__ import annotations

from lora_lint.findings import Verdict
from lora_lint.verify.verdicts.look import Answer, Look, at_line, confirmed_by, frozen_adapters, verdict_on


@verdict_on("LL402")
def _loaded_frozen(look: Look) -> Answer:
    """Whether the loaded adapter was frozen when training began, or got gradients."""
    return frozen_adapters(look, here=look.ran())


@verdict_on("LL403")
def _inference_mode(look: Look) -> Answer:
    """As LL402; what a stored configuration says is known only where it was really read."""
    if "never read" in look.finding.message and look.finding.failure is None:
        return Answer(Verdict.NOT_REACHED, "a training step does not show whether stored weights are read")
    answer = frozen_adapters(look, here=look.ran("attached"))
    stored = any(part.what in ("adapter", "config", "file") and part.line in look.lines for part in look.seen.replaced)
    if stored and answer.verdict is Verdict.REFUTED:
        return Answer(Verdict.NEEDS, f"the stored configuration: a made-up one was read ({answer.evidence})")
    return answer


@verdict_on("LL406")
def _saved(look: Look) -> Answer:
    """The number of tensors that a save of the adapter writes."""
    saves = [save for save in look.seen.saves if save.tensors is not None and save.expected]
    empty = next((save for save in saves if save.tensors == 0), None)
    if empty is not None:
        return Answer(Verdict.CONFIRMED, f"{empty.method}{at_line(empty.line)} writes 0 of {empty.expected} adapter tensors")
    full = next((save for save in saves if save.line in look.lines), None)
    if full is not None:
        return look.absent(f"{full.method}{at_line(full.line)} writes {full.tensors} of {full.expected} adapter tensors")
    return look.unreached("a save of the adapter")


@verdict_on("LL407")
def _refused(look: Look) -> Answer:
    """Whether the trainer refused what it was given together."""
    error = look.seen.exception
    if error is not None and error.says("`peft_config`", "peft_config") and look.hit(error):
        return confirmed_by(look, error)
    if look.seen.end == "step" and look.sure:
        return look.absent("the trainer took both, and a step was done")
    return look.unreached("this trainer")


@verdict_on("LL409")
def _emptied(look: Look) -> Answer:
    """The number of tensors that the save of the emptied PeftModel writes."""
    save = next((save for save in look.seen.saves if save.tensors is not None and save.line in look.lines), None)
    if save is None:
        return look.unreached("the save after the merge")
    if save.tensors == 0:
        return Answer(Verdict.CONFIRMED, f"{save.method}{at_line(save.line)} writes no tensor")
    return look.absent(f"{save.method}{at_line(save.line)} writes {save.tensors} tensors")


@verdict_on("LL413", "LL414", "LL415", "LL416", "LL417")
def _lost_keys(look: Look) -> Answer:
    """What goes wrong goes wrong when the adapter is loaded again."""
    return Answer(Verdict.NOT_REACHED, "a training step says nothing about what a later load finds")


@verdict_on("LL412")
def _none_in_the_configuration(look: Look) -> Answer:
    """What a field of the configuration was is not seen."""
    return Answer(Verdict.NOT_REACHED, "a training step does not show what the configuration was given")
