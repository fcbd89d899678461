"""Verdicts on LL5xx: optimizers and what they hold, and what only a run in several processes shows."""

from __future__ import annotations

from lora_lint.findings import Verdict
from lora_lint.verify.verdicts.look import (
    Answer,
    Look,
    at_line,
    confirmed_by,
    joined,
    nothing_learned,
    refuted_if_learned,
    said_in_processes,
    training_began,
    verdict_on,
)


@verdict_on("LL501")
def _optimizer(look: Look) -> Answer:
    """Whether the optimizer that steps holds the adapters."""
    optimizer = look.seen.optimizer
    if optimizer is None or optimizer.adapters_held is None:
        return look.unreached("an optimizer")
    made = f"the {optimizer.cls} made{at_line(optimizer.made)}" if optimizer.made is not None else f"the {optimizer.cls}"
    mine = optimizer.made is None or optimizer.made in look.own
    if mine and optimizer.adapters_held == 0 and optimizer.trainable_missing:
        return Answer(Verdict.CONFIRMED, f"{made} holds no adapter tensor; {optimizer.trainable_missing} trainable tensors are in no optimizer")
    if optimizer.adapters_held and optimizer.made in look.own:
        return look.absent(f"{made} holds {optimizer.adapters_held} adapter tensors")
    return look.unreached("the optimizer of this finding")


@verdict_on("LL404", "LL502")
def _nothing_trains(look: Look) -> Answer:
    """Whether any parameter requires grad, and is part of what the loss depends on."""
    model, gradients, forward = look.model, look.gradients, look.forward
    symptom = look.no_graph
    if model is not None and model.trainable == 0 and training_began(look) and (gradients is None or gradients.trainable == 0):
        return Answer(Verdict.CONFIRMED, joined(f"0 of {model.parameters} parameters require grad when training begins", symptom or ""))
    if symptom is not None and forward is not None and forward.output_requires_grad is False and not forward.without_grad:
        return Answer(Verdict.CONFIRMED, f"{symptom}; the output of the forward{at_line(forward.line)} required no grad")
    nothing = nothing_learned(look, gradients)
    if nothing is not None:
        return Answer(Verdict.CONFIRMED, nothing)
    return refuted_if_learned(look, gradients, here=False)  # what freezes or merges leaves no trace of when it ran


@verdict_on("LL508")
def _marked_twice(look: Look) -> Answer:
    """The reducer's error, where the script joins a group by itself."""
    return said_in_processes(look, "Expected to mark a variable ready only once")


@verdict_on("LL509")
def _refused_under_zero3(look: Look) -> Answer:
    """The loader's refusal, which needs no second process."""
    return said_in_processes(look, "DeepSpeed Zero-3 is not compatible with")


@verdict_on("LL511")
def _not_gathered(look: Look) -> Answer:
    """What is saved under ZeRO-3 shows only where weights are sharded."""
    return Answer(Verdict.NEEDS, "a run in several processes under DeepSpeed: only there are weights sharded when they are saved")


@verdict_on("LL512")
def _mixed_unit(look: Look) -> Answer:
    """FSDP's own error."""
    return said_in_processes(look, "Must flatten tensors with uniform")


@verdict_on("LL503")
def _half_under_scaler(look: Look) -> Answer:
    """Whether a scaler refused the gradients. Without a GPU the scaler may be off, so that a step that was done refutes nothing."""
    error = look.seen.exception
    if error is not None and error.says("unscale FP16 gradients"):
        return confirmed_by(look, error)
    return look.unreached("a scaler that unscales")


@verdict_on("LL514")
def _kernels(look: Look) -> Answer:
    """The kernels are not run on small models."""
    return Answer(Verdict.NOT_REACHED, "a training step does without the kernels of FlashAttention")
