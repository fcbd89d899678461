"""Verdicts on LL1xx: the graph, the gradients, and the checks against finite differences."""

from __future__ import annotations

import re

from lora_lint.findings import Verdict
from lora_lint.verify.seen import Failure, Gradcheck, ModelSeen
from lora_lint.verify.verdicts.look import (
    INFERENCE_TENSOR,
    Answer,
    Look,
    at_line,
    confirmed_by,
    gradient_counts,
    joined,
    nothing_learned,
    refuted_if_learned,
    starved_by_checkpointing,
    verdict_on,
)

_NO_BACKWARD = re.compile(r"'(int|float\d*|ndarray|numpy\.\w+|list)' object has no attribute '(backward|mean|detach|grad_fn|item|to)'")


@verdict_on("LL101")
def _checkpointing(look: Look) -> Answer:
    """No graph, or trainable tensors without a gradient, where reentrant checkpointing ran."""
    if not look.mine:
        return look.unreached("the model of this finding")
    found = starved_by_checkpointing(look)
    if found is not None:
        return found
    forward, gradients = look.forward, look.gradients
    if forward is None or gradients is None or not gradients.learned:
        return look.unreached("why gradients are missing")
    if not forward.checkpoint_calls:
        return Answer(Verdict.NOT_REACHED, f"{gradient_counts(gradients)}, but no checkpointing ran in the forward")
    kind = "reentrant" if forward.reentrant else "non-reentrant"
    return look.absent(f"{gradient_counts(gradients)}, with {kind} checkpointing in the forward", here=look.ran("frozen"), met=True)


@verdict_on("LL102")
def _cut(look: Look) -> Answer:
    """A value without a graph is backpropagated although the model's output had one, or it is no tensor."""
    error, forward, gradients = look.seen.exception, look.forward, look.gradients
    if error is not None and (look.hit(error) or _in_trainer(error)) and _no_tensor(error):
        return confirmed_by(look, error)
    if elsewhere := _backward_elsewhere(look):
        return elsewhere
    alive = forward is None or forward.output_requires_grad is not False
    for symptom in (look.no_graph, nothing_learned(look, gradients)):
        if symptom is not None and alive:
            return Answer(Verdict.CONFIRMED, symptom + ("; the model's output did require grad" if forward is not None else ""))
        if symptom is not None:
            return Answer(Verdict.NOT_REACHED, f"{symptom}, but the model's output required no grad already, so the loss cannot be judged")
    return refuted_if_learned(look, gradients, here=look.passed)


@verdict_on("LL103")
def _without_grad(look: Look) -> Answer:
    """The forward ran without gradients, or the adapters in it have none."""
    error, forward, gradients = look.seen.exception, look.forward, look.gradients
    if error is not None and error.says(INFERENCE_TENSOR):
        return confirmed_by(look, error)
    if elsewhere := _backward_elsewhere(look):
        return elsewhere
    off = forward is not None and forward.without_grad
    mode = "the forward ran with gradients switched off" if off else "the output of the forward required no grad"
    if look.no_graph is not None and (off or (forward is not None and forward.output_requires_grad is False and _trains(look.model))):
        return Answer(Verdict.CONFIRMED, f"{look.no_graph}; {mode}{at_line(forward.line if forward is not None else None)}")
    if gradients is not None and gradients.trainable and (gradients.starved or gradients.adapters_starved):
        where = f"; {mode}{at_line(forward.line)}" if forward is not None and off else ""
        return Answer(Verdict.CONFIRMED, gradient_counts(gradients) + where)
    return refuted_if_learned(look, gradients, here=look.passed)


@verdict_on("LL104")
def _branch(look: Look) -> Answer:
    """The gradient of the module's input against finite differences."""
    named = re.search(r"`([\w.]+)\.forward`", look.finding.message)
    cls = named[1].rpartition(".")[2] if named else ""
    checks = [check for check in look.seen.gradchecks if check.cls == cls and check.of_input]
    wrong = next((check for check in checks if check.ok is False), None)
    if wrong is not None:
        return Answer(Verdict.CONFIRMED, _differs(wrong))
    judged = [check for check in checks if check.ok]
    if judged and len(judged) == len(checks):
        error = max((check.error for check in judged if check.error is not None), default=None)
        return Answer(Verdict.REFUTED, f"the gradient of the input of `{cls}` agrees with finite differences (relative error {_number(error)})")
    if checks:
        return Answer(Verdict.NOT_REACHED, f"`{cls}` is not smooth enough for finite differences to judge its gradient")
    return look.unreached(f"a call of `{cls}` whose input needs a gradient")


@verdict_on("LL105")
def _forced(look: Look) -> Answer:
    """Backward passed over a leaf, or gave no trainable tensor a gradient."""
    error, backward, gradients = look.seen.exception, look.seen.backward, look.gradients
    if error is not None and look.hit(error) and error.says(INFERENCE_TENSOR, "Calculated loss must be on the original device"):
        return confirmed_by(look, error)
    if elsewhere := _backward_elsewhere(look):
        return elsewhere
    if backward is not None and backward.error is None and ((backward.leaf and gradients is None) or (gradients is not None and gradients.starved)):
        leaf = "the loss was a leaf without a graph" if backward.leaf else ""
        return Answer(Verdict.CONFIRMED, joined(f"backward passed{at_line(backward.line)}", leaf, gradient_counts(gradients)))
    return refuted_if_learned(look, gradients, here=look.passed)


def _backward_elsewhere(look: Look) -> Answer | None:
    """Not reached where the backward pass that was made stands on another line than the finding's."""
    finding, backward = look.finding, look.seen.backward
    last = finding.flow[-1] if finding.flow else None
    if last is None or last.path != finding.path or ".backward()" not in last.message or backward is None or backward.line is None:
        return None
    if backward.line in look.lines or look.hit(look.seen.exception):
        return None
    return Answer(Verdict.NOT_REACHED, f"the run came to the backward pass{at_line(backward.line)}, not to that of this finding")


def _no_tensor(error: Failure) -> bool:
    """Whether a value was backpropagated that is no tensor."""
    if error.says("Can't call numpy() on Tensor that requires grad"):
        return True
    return error.type == "AttributeError" and bool(_NO_BACKWARD.search(error.message))


def _in_trainer(error: Failure) -> bool:
    """Whether it arose in a trainer, or accelerate, on what compute_loss or the script gave it."""
    return any(re.match(r"(transformers|trl)/(\w+/)*\w*trainer\.py|accelerate/accelerator\.py", place) for place in error.where[-1:])


def _trains(model: ModelSeen | None) -> bool:
    return model is not None and bool(model.trainable)


def _differs(check: Gradcheck) -> str:
    numbers = f"autograd {_number(check.autograd)}, finite differences {_number(check.numeric)}, relative error {_number(check.error)}"
    return f"the gradient of {check.what} of `{check.cls}` (line {check.line}) is wrong: {numbers}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2g}"


@verdict_on("LL107")
def _evaluation_mode(look: Look) -> Answer:
    """Nothing: the top module's mode is seen and not that of the modules inside, and one step sees no second turn."""
    return Answer(Verdict.NOT_REACHED, "one training step does not tell in which mode the inner modules of later turns are")
