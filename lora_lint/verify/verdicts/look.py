"""What a verdict is made of: one finding beside what was seen, and the questions that several rules ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from lora_lint.findings import Finding, Span, Verdict
from lora_lint.verify.seen import EMPTY_OPTIMIZER, NO_GRAD_FN, Failure, Forward, Gradients, ModelSeen, Seen, headline

_LONGEST = 30  # lines of an expression that are taken for its own; of what is longer, the first
_BEFORE_SCRIPT = ("no report", "killed", "timeout", "cannot start", "imports failed")
INFERENCE_TENSOR = "nference tensor"
_PURELY_QUANTIZED = "purely quantized models"
_DATA = ("KeyError", "IndexError", "StopIteration", "JSONDecodeError", "UnicodeDecodeError")
_DATA_WORDS = re.compile(r"column|split|feature|dataset|num_samples|config name|BuilderConfig|supply an encoding", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """A verdict and the line that says why."""

    verdict: Verdict
    evidence: str


class Look:
    """One finding, beside what was seen."""

    def __init__(self, finding: Finding, seen: Seen) -> None:
        self.finding, self.seen = finding, seen
        self.own = frozenset(_lines(finding.span))
        mine = (step.span for step in finding.flow if step.path == finding.path)
        self.lines = self.own.union(*map(_lines, mine))

    @cached_property
    def _made_here(self) -> list[ModelSeen]:
        return [model for model in self.seen.models if model.made & self.lines]

    @cached_property
    def model(self) -> ModelSeen | None:
        """The model that the finding is about: made on one of its lines, the judged one if there is a choice; where none is, the judged one."""
        judged, found = self.seen.judged, self._made_here
        if not found or any(model is judged for model in found):
            return judged
        return found[0] if len(found) == 1 else None

    @property
    def sure(self) -> bool:
        """Whether the model was made on a line of the finding."""
        return any(model is self.model for model in self._made_here)

    @property
    def mine(self) -> bool:
        """Whether what was seen of the model may be taken for the finding's: it is ``sure``, or nobody knows where it was made."""
        return self.sure or self.model is None or not self.model.made

    @property
    def gradients(self) -> Gradients | None:
        """The gradients of the model."""
        return self.seen.gradients_for(self.model)

    @property
    def forward(self) -> Forward | None:
        """The forward of the model that led to the loss."""
        return self.seen.forward_of(self.model)

    @property
    def calls(self) -> list[Forward]:
        """The calls of models on the finding's lines."""
        return [forward for forward in self.seen.forwards if forward.line in self.own]

    def ran(self, word: str = "") -> bool:
        """Whether the model was made, or something loaded for it, on the finding's own line, or on that of a step of its flow that has a word."""
        model, finding = self.model, self.finding
        lines = self.own
        if word:
            lines = frozenset().union(*(_lines(step.span) for step in finding.flow if word in step.message and step.path == finding.path))
        made = model.made if model is not None else frozenset()
        return bool(lines & made.union(part.line for part in self.seen.replaced if part.line is not None and part.what == "adapter"))

    @property
    def passed(self) -> bool:
        """Whether the loss went over a line of the finding."""
        forward, backward = self.forward, self.seen.backward
        return (forward is not None and forward.line in self.lines) or (backward is not None and backward.line in self.lines)

    @property
    def no_graph(self) -> str | None:
        """The error of a backward pass over a value without a graph, and its line."""
        error, backward = self.seen.exception, self.seen.backward
        if error is not None and error.no_graph:
            return f"{error.text}{at_line(self.seen.failing_line)}"
        if backward is not None and backward.error is not None and NO_GRAD_FN in backward.error:
            return f"{headline(backward.error)}{at_line(backward.line)}"
        return None

    def hit(self, error: Failure | None, lines: Iterable[int] | None = None) -> bool:
        """Whether an exception passed one of the finding's lines."""
        if error is None:
            return False
        mine = self.lines if lines is None else lines
        return any(line in mine for file, line in error.lines if self.seen.is_script(file))

    def absent(self, evidence: str, *, here: bool = True, met: bool = False) -> Answer:
        """The symptom was not there. ``here``: the finding's own place was seen; ``met``: so was what its condition asks for."""
        if not here:
            return Answer(Verdict.NOT_REACHED, f"{evidence}, but that the lines of this finding ran before the step was not seen")
        if self.finding.condition and not met:
            return Answer(Verdict.NOT_REACHED, f"{evidence}; it is reported for runs with {self.finding.condition}, and this may be another one")
        return Answer(Verdict.REFUTED, evidence)

    def unreached(self, missing: str = "") -> Answer:
        """Nothing was seen that decides; ``missing`` says what was not, after a step that was done."""
        return _unreached(self.seen, missing)


Rule = Callable[[Look], Answer]
RULES: dict[str, Rule] = {}


def verdict_on(*codes: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(codes, function))
        return function

    return register


def frozen_adapters(look: Look, *, here: bool) -> Answer:
    """Confirmed where all adapters were frozen when training began, refuted where none was and they have gradients."""
    model, gradients, error = look.model, look.gradients, look.seen.exception
    if not look.mine:
        return look.unreached("the model of this finding")
    frozen = model is not None and model.frozen and training_began(look)
    if gradients is not None and gradients.adapters:
        frozen = gradients.adapters_frozen == gradients.adapters
    if frozen and model is not None:
        count = gradients.adapters if gradients is not None and gradients.adapters else model.adapter_tensors
        stopped = error if error is not None and (error.no_graph or error.says(EMPTY_OPTIMIZER, _PURELY_QUANTIZED)) else None
        after = f"{stopped.text}{at_line(look.seen.failing_line)}" if stopped is not None else ""
        return Answer(Verdict.CONFIRMED, joined(f"{count} of {count} adapter tensors were frozen when training began", after))
    if gradients is not None and gradients.adapters and gradients.learned and not gradients.adapters_frozen:
        return look.absent(gradient_counts(gradients), here=here)
    return look.unreached("whether the adapters of this finding train")


def starved_by_checkpointing(look: Look) -> Answer | None:
    """Confirmed where reentrant checkpointing ran and the graph, or gradients, are missing; not reached where it did not run and they are."""
    forward, gradients, symptom = look.forward, look.gradients, look.no_graph
    if symptom is None and gradients is not None and gradients.trainable:
        many = gradients.none_count * 4 >= gradients.trainable  # a few may have other reasons
        missing = f"{gradients.none_count} of {gradients.trainable} trainable tensors have no gradient"
        symptom = missing if many else gradient_counts(gradients) if gradients.starved else None
    if symptom is None:
        return None
    if forward is not None and forward.reentrant:
        return Answer(Verdict.CONFIRMED, f"{symptom}; reentrant checkpointing ran in the forward{at_line(forward.line)}")
    return Answer(Verdict.NOT_REACHED, f"{symptom}, but no reentrant checkpointing was seen in the forward")


def nothing_learned(look: Look, gradients: Gradients | None) -> str | None:
    backward = look.seen.backward
    if gradients is None or not gradients.starved or not gradients.trainable or backward is None or backward.error is not None:
        return None
    return joined(f"backward passed{at_line(backward.line)}", gradient_counts(gradients))


def refuted_if_learned(look: Look, gradients: Gradients | None, *, here: bool) -> Answer:
    """Refuted where what trains has gradients, else not reached."""
    if gradients is not None and gradients.learned:
        return look.absent(gradient_counts(gradients), here=here)
    return look.unreached("a gradient" if gradients is None else f"what is missing ({gradient_counts(gradients)})")


def training_began(look: Look) -> bool:
    """Whether training with the model had begun, so that its state is that of training."""
    error, forward = look.seen.exception, look.forward
    refused = error is not None and error.says(EMPTY_OPTIMIZER, _PURELY_QUANTIZED)
    return refused or look.no_graph is not None or (forward is not None and bool(forward.training or look.seen.backward is not None))


def _unreached(seen: Seen, missing: str) -> Answer:
    """Why the step does not decide: how the run ended, or what was not seen in it."""
    error, line = seen.exception, seen.failing_line
    if seen.end in _BEFORE_SCRIPT:
        at = next((number for file, number in reversed(seen.running) if seen.is_script(file)), None)
        why = seen.detail or (error.text if error is not None else "") or f"the run ended with: {seen.end}"
        return Answer(Verdict.NOT_REACHED, why + (f"; it was{at_line(at)}" if at is not None else ""))
    if error is not None:
        return _stopped(seen, error, f"{error.text}{at_line(line)}")
    if seen.end == "exit":
        return Answer(Verdict.NOT_REACHED, f"the script ended itself with status {seen.exit_code} before its first step")
    if seen.end == "finished":
        return Answer(Verdict.NOT_REACHED, "the script ran to its end without an optimizer step" + (f"; not seen: {missing}" if missing else ""))
    return Answer(Verdict.NOT_REACHED, "one step was done" + (f"; not seen: {missing}" if missing else ""))


def _stopped(seen: Seen, error: Failure, text: str) -> Answer:
    """An exception that is not the finding's: what would be needed to come further, where that is plain."""
    real = seen.device.startswith("cuda")
    if error.without_gpu and not real:
        return Answer(Verdict.NEEDS, f"a GPU: {text}")
    if error.type == "ModuleNotFoundError":
        return Answer(Verdict.NEEDS, f"a package: {text}")
    if error.type == "EOFError":
        return Answer(Verdict.NEEDS, f"input: {text}")
    if error.type in ("FileNotFoundError", "NotADirectoryError"):
        return Answer(Verdict.NEEDS, f"a file: {text}")
    made_up = any(part.what in ("dataset", "file") and "its first" not in part.by and "the first" not in part.by for part in seen.replaced)
    if made_up and error.stage == "before the step" and (error.type in _DATA or _DATA_WORDS.search(error.message)):
        return Answer(Verdict.NEEDS, f"the real data, made-up rows stood in for it: {text}")
    return Answer(Verdict.NOT_REACHED, f"the run stopped earlier: {text}")


def _lines(span: Span) -> range:
    end = span.end.line if span.end.column > 1 or span.end.line == span.start.line else span.end.line - 1
    return range(span.start.line, (end if end - span.start.line < _LONGEST else span.start.line) + 1)


def said_in_processes(look: Look, text: str) -> Answer:
    """Confirmed by an error that only a run in several processes ends in; the step itself is one process."""
    error = look.seen.exception
    if error is not None and error.says(text):
        return confirmed_by(look, error)
    return Answer(Verdict.NEEDS, "a run in several processes: the step is run in one")


def confirmed_by(look: Look, error: Failure) -> Answer:
    return Answer(Verdict.CONFIRMED, f"{error.text}{at_line(look.seen.failing_line)}")


def at_line(line: int | None) -> str:
    return f" at line {line}" if line is not None else ""


def joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def gradient_counts(gradients: Gradients | None) -> str:
    if gradients is None:
        return ""
    if gradients.adapters:
        return f"{gradients.adapters_with_grad} of {gradients.adapters} adapter tensors have a gradient"
    return f"{gradients.with_grad} of {gradients.trainable} trainable tensors have a gradient"


def one_line(text: str) -> str:
    return " ".join(text.split())
