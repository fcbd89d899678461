"""Faults that a step shows and no finding explains: LL800."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lora_lint.findings import Finding, Verdict
from lora_lint.verify.seen import Failure, Seen
from lora_lint.verify.verdicts import decide
from lora_lint.verify.verdicts.look import INFERENCE_TENSOR, gradient_counts


@dataclass(frozen=True)
class Fault:
    """What a finding of LL800 says: the step shows a fault that no rule explains. ``failure`` is the error text, ``None`` where it is silent."""

    line: int
    message: str
    failure: str | None = None


_SILENT = ("LL104", "LL406", "LL501")  # their confirmation explains no exception and no missing gradient
_LIBRARIES = r"['\"]?(torch|transformers|peft|trl|accelerate|bitsandbytes|datasets)\b"


def unexplained(findings: Iterable[Finding], seen: Seen) -> Fault | None:
    """A fault that the step shows and that no finding explains, with its line in the script; ``None`` where there is none, or none that is certain.

    Of exceptions only those count that what ``--verify`` replaces or forbids cannot have caused.
    """
    confirmed = {finding.code for finding in findings if decide(finding, seen).verdict is Verdict.CONFIRMED}
    error = seen.exception
    if error is not None and seen.end in ("exception", "exit"):
        line = seen.failing_line
        if line is None or confirmed - set(_SILENT) or not _surely_theirs(error, seen):
            return None
        return Fault(line, f"The script stops before its first optimizer step is done: {error.text}", error.text)
    if not seen.done or seen.backward is None:
        return None
    return _silent_fault(confirmed, seen)


def _surely_theirs(error: Failure, seen: Seen) -> bool:
    """Whether an exception is the script's own and would come with the real model, data and files as well."""
    if error.ours:
        return False
    if error.no_graph:
        return error.stage == "backward"
    if error.mixed_devices:
        return seen.gpus > 0 and (error.stage == "forward" or bool(seen.forwards))
    if error.says(INFERENCE_TENSOR):
        return True
    if error.type in ("NameError", "UnboundLocalError", "SyntaxError", "IndentationError", "TabError"):
        return bool(error.lines) and seen.is_script(error.lines[-1][0]) and not error.where
    if error.type == "AttributeError":
        return bool(re.match(r"'(float|int)' object has no attribute 'backward'", error.message))
    if error.type == "ImportError":
        return bool(re.match(rf"cannot import name '\w+' from {_LIBRARIES}", error.message))
    if error.type == "TypeError":
        return bool(re.match(r"(\w*Arguments|\w*Config|\w*Trainer)\.__init__\(\) got an unexpected keyword argument", error.message))
    return False


def _silent_fault(confirmed: set[str], seen: Seen) -> Fault | None:
    """A step that passed and trains no adapter."""
    backward, gradients, optimizer = seen.backward, seen.gradients, seen.optimizer
    if gradients is not None and gradients.adapters_starved and backward is not None:
        if confirmed - set(_SILENT) or backward.line is None:
            return None
        why = "all of them are frozen" if gradients.adapters_frozen == gradients.adapters else gradient_counts(gradients)
        return Fault(backward.line, f"The first backward pass gives no adapter a gradient: {why}")
    if optimizer is None or optimizer.adapters_held != 0 or confirmed or gradients is None or not gradients.adapters_with_grad:
        return None
    line = optimizer.made if optimizer.made is not None else optimizer.line
    if line is None or not optimizer.trainable_missing:
        return None
    return Fault(line, f"No adapter is in the optimizer that steps: {optimizer.trainable_missing} trainable tensors are in none")
