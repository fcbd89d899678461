"""What a real step says of each finding: one small function a rule, on what was seen and nothing else.

*Confirmed* and *refuted* need an observation of the thing itself. A refuted finding is not counted, so doubt is never a refutation: where the model
of the finding is not the one that the step trained, where its line cannot be seen to have run before the step (a script may train in several
stages, and only the first one is run), or where it holds under a condition that this run need not have met, the answer is *not reached*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from lora_lint.findings import Finding, Severity, Span, Verdict, Verification
from lora_lint.verify.seen import EMPTY_OPTIMIZER, NO_GRAD_FN, Failure, Forward, Gradcheck, Gradients, ModelSeen, Seen, headline

_LONGEST = 30  # lines of an expression that are taken for its own; of what is longer, the first
_BEFORE_SCRIPT = ("no report", "killed", "timeout", "cannot start", "imports failed")
_OFFLOADED = "You can't move a model that has some modules offloaded"
_INFERENCE_TENSOR = "nference tensor"
_PURELY_QUANTIZED = "purely quantized models"
_NO_BACKWARD = re.compile(r"'(int|float\d*|ndarray|numpy\.\w+|list)' object has no attribute '(backward|mean|detach|grad_fn|item|to)'")
_DATA = ("KeyError", "IndexError", "StopIteration", "JSONDecodeError", "UnicodeDecodeError")
_DATA_WORDS = re.compile(r"column|split|feature|dataset|num_samples|config name|BuilderConfig|supply an encoding", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """A verdict and the line that says why."""

    verdict: Verdict
    evidence: str


@dataclass(frozen=True)
class Fault:
    """What a finding of LL800 says: the step shows a fault that no rule explains. ``failure`` is the error text, ``None`` where it is silent."""

    line: int
    message: str
    failure: str | None = None


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
            return f"{error.text}{_at(self.seen.failing_line)}"
        if backward is not None and backward.error is not None and NO_GRAD_FN in backward.error:
            return f"{headline(backward.error)}{_at(backward.line)}"
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


def _rule(*codes: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(codes, function))
        return function

    return register


def decide(finding: Finding, seen: Seen) -> Verification:
    """The verdict on a finding of the script that was run."""
    rule = RULES.get(finding.code)
    answer = rule(Look(finding, seen)) if rule is not None else Answer(Verdict.NOT_REACHED, "a training step says nothing about it")
    return Verification(answer.verdict, _one_line(answer.evidence), tuple((seen.versions or {}).items()), seen.device)


@_rule("LL101")
def _checkpointing(look: Look) -> Answer:
    """No graph, or trainable tensors without a gradient, where reentrant checkpointing ran."""
    if not look.mine:
        return look.unreached("the model of this finding")
    found = _starved_by_checkpointing(look)
    if found is not None:
        return found
    forward, gradients = look.forward, look.gradients
    if forward is None or gradients is None or not gradients.learned:
        return look.unreached("why gradients are missing")
    if not forward.checkpoint_calls:
        return Answer(Verdict.NOT_REACHED, f"{_numbers(gradients)}, but no checkpointing ran in the forward")
    kind = "reentrant" if forward.reentrant else "non-reentrant"
    return look.absent(f"{_numbers(gradients)}, with {kind} checkpointing in the forward", here=look.ran("frozen"), met=True)


@_rule("LL102")
def _cut(look: Look) -> Answer:
    """A value without a graph is backpropagated although the model's output had one, or it is no tensor."""
    error, forward, gradients = look.seen.exception, look.forward, look.gradients
    if error is not None and (look.hit(error) or _in_trainer(error)) and _no_tensor(error):
        return _confirmed(look, error)
    if elsewhere := _backward_elsewhere(look):
        return elsewhere
    alive = forward is None or forward.output_requires_grad is not False
    for symptom in (look.no_graph, _nothing_learned(look, gradients)):
        if symptom is not None and alive:
            return Answer(Verdict.CONFIRMED, symptom + ("; the model's output did require grad" if forward is not None else ""))
        if symptom is not None:
            return Answer(Verdict.NOT_REACHED, f"{symptom}, but the model's output required no grad already, so the loss cannot be judged")
    return _learned(look, gradients, here=look.passed)


@_rule("LL103")
def _without_grad(look: Look) -> Answer:
    """The forward ran without gradients, or the adapters in it have none."""
    error, forward, gradients = look.seen.exception, look.forward, look.gradients
    if error is not None and error.says(_INFERENCE_TENSOR):
        return _confirmed(look, error)
    if elsewhere := _backward_elsewhere(look):
        return elsewhere
    off = forward is not None and forward.without_grad
    mode = "the forward ran with gradients switched off" if off else "the output of the forward required no grad"
    if look.no_graph is not None and (off or (forward is not None and forward.output_requires_grad is False and _trains(look.model))):
        return Answer(Verdict.CONFIRMED, f"{look.no_graph}; {mode}{_at(forward.line if forward is not None else None)}")
    if gradients is not None and gradients.trainable and (gradients.starved or gradients.adapters_starved):
        return Answer(Verdict.CONFIRMED, f"{_numbers(gradients)}" + (f"; {mode}{_at(forward.line)}" if forward is not None and off else ""))
    return _learned(look, gradients, here=look.passed)


@_rule("LL104")
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


@_rule("LL105")
def _forced(look: Look) -> Answer:
    """Backward passed over a leaf, or gave no trainable tensor a gradient."""
    error, backward, gradients = look.seen.exception, look.seen.backward, look.gradients
    if error is not None and look.hit(error) and error.says(_INFERENCE_TENSOR, "Calculated loss must be on the original device"):
        return _confirmed(look, error)
    if elsewhere := _backward_elsewhere(look):
        return elsewhere
    if backward is not None and backward.error is None and ((backward.leaf and gradients is None) or (gradients is not None and gradients.starved)):
        leaf = "the loss was a leaf without a graph" if backward.leaf else ""
        return Answer(Verdict.CONFIRMED, _joined(f"backward passed{_at(backward.line)}", leaf, _numbers(gradients)))
    return _learned(look, gradients, here=look.passed)


@_rule("LL201")
def _unprepared(look: Look) -> Answer:
    """As LL101 with a quantized base; where it trains, the types of what is not quantized."""
    model, gradients = look.model, look.gradients
    if not look.mine:
        return look.unreached("the model of this finding")
    if model is not None and model.prepared_kbit:
        return look.absent("prepare_model_for_kbit_training was called on this model", here=look.ran())
    if model is not None and not model.quantized and look.forward is not None:
        return Answer(Verdict.NOT_REACHED, "the model of this run was not quantized")
    found = _starved_by_checkpointing(look)
    if found is not None or model is None or gradients is None or not gradients.learned:
        return found or look.unreached("why gradients are missing")
    base = f"{_numbers(gradients)}, on a base in {model.quantized} bits that nothing prepared"
    half = "" if model.half is None else f", {model.half} of its tensors in half precision"
    if _says_it_fails(look.finding) and look.forward is not None and not look.forward.checkpoint_calls:
        return Answer(Verdict.NOT_REACHED, f"{base}, but no checkpointing ran in the forward")
    if _says_it_fails(look.finding) or model.half == 0:
        return look.absent(base + half, here=look.ran())
    return Answer(Verdict.CONFIRMED, base + half)


@_rule("LL202")
def _prepared_late(look: Look) -> Answer:
    """Whether the adapters were frozen when training began, or got gradients after the preparation."""
    prepared = look.model is not None and look.model.prepared_kbit is True
    return _frozen(look, here=prepared and look.ran("attached"))


@_rule("LL402")
def _loaded_frozen(look: Look) -> Answer:
    """Whether the loaded adapter was frozen when training began, or got gradients."""
    return _frozen(look, here=look.ran())


@_rule("LL203")
def _keyword(look: Look) -> Answer:
    """Whether the loader refused the keyword."""
    error = look.seen.exception
    refused = error is not None and error.type in ("TypeError", "ValueError") and error.says("load_in_4bit", "load_in_8bit")
    if error is not None and refused and look.hit(error):
        return _confirmed(look, error)
    if look.sure and not look.hit(error):
        return look.absent("the load passed")
    return look.unreached("this load")


@_rule("LL301")
def _moved(look: Look) -> Answer:
    """The move's own error, or the next forward that mixes devices; both only where device_map spread the model."""
    seen, error = look.seen, look.seen.exception
    moves = [move for move in seen.moves if move.line in look.own]
    failed = next((move for move in moves if move.error is not None), None)
    if failed is not None:
        return Answer(Verdict.CONFIRMED, f"{headline(failed.error or '')}{_at(failed.line)}")
    if error is not None and seen.failing_line in look.own and error.says(_OFFLOADED):  # accelerate's, before the model's own method
        return Answer(Verdict.CONFIRMED, f"{error.text}{_at(seen.failing_line)}")
    if not seen.gpus:
        return Answer(Verdict.NEEDS, "a GPU, real or virtual")
    move = moves[-1] if moves else None
    model = seen.model(move.model) if move is not None else None
    if move is None or model is None:
        return look.unreached("this move")
    if not move.dispatched:
        return look.absent(f"device_map had not placed the model that was moved{_at(move.line)}")
    if look.finding.failure is not None and not model.places & {"cpu", "disk"}:
        return Answer(Verdict.NEEDS, "a model that does not fit: device_map offloaded nothing of the small one")
    if look.finding.failure is None and len(model.places) < 2:
        only = next(iter(model.places), "one device")
        return Answer(Verdict.NEEDS, f"a second GPU: device_map put all of the model on {only}, where the move{_at(move.line)} changes nothing")
    if error is not None and error.mixed_devices:
        return Answer(Verdict.CONFIRMED, f"after the move{_at(move.line)}: {error.text}{_at(seen.failing_line)}")
    after = [forward for forward in seen.forwards if forward.model == model.id and (seen.done or (forward.line or 0) > (move.line or 0))]
    if any(forward.error is None and forward.output_requires_grad is not None for forward in after):
        return look.absent(f"the move{_at(move.line)} and the forward after it passed, with the model on {_names(model.places)}", met=True)
    return look.unreached("a forward after the move")


@_rule("LL302")
def _kbit_moved(look: Look) -> Answer:
    """The move's own error."""
    moves = [move for move in look.seen.moves if move.line in look.own]
    failed = next((move for move in moves if move.error is not None), None)
    if failed is not None:
        return Answer(Verdict.CONFIRMED, f"{headline(failed.error or '')}{_at(failed.line)}")
    models = [look.seen.model(move.model) for move in moves]
    bits = next((model.quantized for model in models if model is not None and model.quantized), None)
    if moves and bits is not None:
        return look.absent(f".{moves[0].method}() of the {bits}-bit model passed{_at(moves[0].line)}", met=True)
    if moves:
        return Answer(Verdict.NOT_REACHED, f"the model that was moved{_at(moves[0].line)} was not quantized in this run")
    return look.unreached("this move")


@_rule("LL303")
def _inputs(look: Look) -> Answer:
    """The call itself: an operation in it mixes devices, or it passes with the model on a GPU."""
    seen, error, calls = look.seen, look.seen.exception, look.calls
    if not seen.gpus:
        return Answer(Verdict.NEEDS, "a GPU, real or virtual")
    moved = any(call.error is not None and call.inputs and call.on_gpu and _cpu(call) == [] for call in calls)
    if error is not None and error.mixed_devices and look.hit(error, look.own) and not moved:
        return _confirmed(look, error)
    swallowed = next((call for call in calls if call.error is not None and Failure(message=call.error).mixed_devices and _cpu(call)), None)
    if swallowed is not None:
        return Answer(Verdict.CONFIRMED, f"{headline(swallowed.error or '')}{_at(swallowed.line)}")
    call = next((call for call in calls if call.error is None and call.inputs is not None), None)
    if call is None:
        return look.unreached("this call: the run ends at the first optimizer step")
    model = seen.model(call.model)
    if len(call.model_devices) > 1 or (model is not None and len(model.places) > 1):
        return Answer(Verdict.NEEDS, "a run on one GPU: a model that is spread over several devices moves its inputs itself")
    evidence = f"the call{_at(call.line)} passed with {_placed(call)}"
    return look.absent(evidence, met=call.on_gpu)


@_rule("LL304")
def _literal_device(look: Look) -> Answer:
    """A call of the model with inputs on another GPU than it is on; a note is about other machines than this one."""
    seen = look.seen
    if look.finding.severity is Severity.NOTE:
        return Answer(Verdict.NEEDS, "a machine on which device_map chooses another device")
    calls = [forward for forward in seen.forwards if look.model is not None and forward.model == look.model.id and forward.inputs]
    for call in calls:
        elsewhere = [device for device in (call.inputs or {}).values() if device.startswith("cuda") and device not in call.model_devices]
        if call.error is not None and elsewhere and Failure(message=call.error).mixed_devices:
            return Answer(Verdict.CONFIRMED, f"{headline(call.error)}{_at(call.line)}; {_placed(call)}")
    if seen.gpus < 2:
        return Answer(Verdict.NEEDS, "a second GPU, real or virtual")
    if "the GPU of this process" in look.finding.message:
        return Answer(Verdict.NEEDS, "a second process: in the first one both are on the same GPU")
    passed = next((call for call in calls if call.error is None and call.line in look.lines), None)
    if passed is not None:
        return look.absent(f"the call{_at(passed.line)} passed with {_placed(passed)}", met=passed.on_gpu)
    return look.unreached("the call that gets these inputs")


@_rule("LL403")
def _inference_mode(look: Look) -> Answer:
    """As LL402; what a stored configuration says is known only where it was really read."""
    if "never read" in look.finding.message and look.finding.failure is None:
        return Answer(Verdict.NOT_REACHED, "a training step does not show whether stored weights are read")
    answer = _frozen(look, here=look.ran("attached"))
    stored = any(part.what in ("adapter", "config", "file") and part.line in look.lines for part in look.seen.replaced)
    if stored and answer.verdict is Verdict.REFUTED:
        return Answer(Verdict.NEEDS, f"the stored configuration: a made-up one was read ({answer.evidence})")
    return answer


@_rule("LL406")
def _saved(look: Look) -> Answer:
    """The number of tensors that a save of the adapter writes."""
    saves = [save for save in look.seen.saves if save.tensors is not None and save.expected]
    empty = next((save for save in saves if save.tensors == 0), None)
    if empty is not None:
        return Answer(Verdict.CONFIRMED, f"{empty.method}{_at(empty.line)} writes 0 of {empty.expected} adapter tensors")
    full = next((save for save in saves if save.line in look.lines), None)
    if full is not None:
        return look.absent(f"{full.method}{_at(full.line)} writes {full.tensors} of {full.expected} adapter tensors")
    return look.unreached("a save of the adapter")


@_rule("LL501")
def _optimizer(look: Look) -> Answer:
    """Whether the optimizer that steps holds the adapters."""
    optimizer = look.seen.optimizer
    if optimizer is None or optimizer.adapters_held is None:
        return look.unreached("an optimizer")
    made = f"the {optimizer.cls} made{_at(optimizer.made)}" if optimizer.made is not None else f"the {optimizer.cls}"
    mine = optimizer.made is None or optimizer.made in look.own
    if mine and optimizer.adapters_held == 0 and optimizer.trainable_missing:
        return Answer(Verdict.CONFIRMED, f"{made} holds no adapter tensor; {optimizer.trainable_missing} trainable tensors are in no optimizer")
    if optimizer.adapters_held and optimizer.made in look.own:
        return look.absent(f"{made} holds {optimizer.adapters_held} adapter tensors")
    return look.unreached("the optimizer of this finding")


@_rule("LL502")
def _nothing_trains(look: Look) -> Answer:
    """Whether any parameter requires grad, and is part of what the loss depends on."""
    model, gradients, forward = look.model, look.gradients, look.forward
    symptom = look.no_graph
    if model is not None and model.trainable == 0 and _began(look) and (gradients is None or gradients.trainable == 0):
        return Answer(Verdict.CONFIRMED, _joined(f"0 of {model.parameters} parameters require grad when training begins", symptom or ""))
    if symptom is not None and forward is not None and forward.output_requires_grad is False and not forward.without_grad:
        return Answer(Verdict.CONFIRMED, f"{symptom}; the output of the forward{_at(forward.line)} required no grad")
    nothing = _nothing_learned(look, gradients)
    if nothing is not None:
        return Answer(Verdict.CONFIRMED, nothing)
    return _learned(look, gradients, here=False)  # what freezes or merges leaves no trace of when it ran


# What several rules ask


def _frozen(look: Look, *, here: bool) -> Answer:
    """Confirmed where all adapters were frozen when training began, refuted where none was and they have gradients."""
    model, gradients, error = look.model, look.gradients, look.seen.exception
    if not look.mine:
        return look.unreached("the model of this finding")
    frozen = model is not None and model.frozen and _began(look)
    if gradients is not None and gradients.adapters:
        frozen = gradients.adapters_frozen == gradients.adapters
    if frozen and model is not None:
        count = gradients.adapters if gradients is not None and gradients.adapters else model.adapter_tensors
        stopped = error if error is not None and (error.no_graph or error.says(EMPTY_OPTIMIZER, _PURELY_QUANTIZED)) else None
        after = f"{stopped.text}{_at(look.seen.failing_line)}" if stopped is not None else ""
        return Answer(Verdict.CONFIRMED, _joined(f"{count} of {count} adapter tensors were frozen when training began", after))
    if gradients is not None and gradients.adapters and gradients.learned and not gradients.adapters_frozen:
        return look.absent(_numbers(gradients), here=here)
    return look.unreached("whether the adapters of this finding train")


def _starved_by_checkpointing(look: Look) -> Answer | None:
    """Confirmed where reentrant checkpointing ran and the graph, or gradients, are missing; not reached where it did not run and they are."""
    forward, gradients, symptom = look.forward, look.gradients, look.no_graph
    if symptom is None and gradients is not None and gradients.trainable:
        many = gradients.none_count * 4 >= gradients.trainable  # a few may have other reasons
        missing = f"{gradients.none_count} of {gradients.trainable} trainable tensors have no gradient"
        symptom = missing if many else _numbers(gradients) if gradients.starved else None
    if symptom is None:
        return None
    if forward is not None and forward.reentrant:
        return Answer(Verdict.CONFIRMED, f"{symptom}; reentrant checkpointing ran in the forward{_at(forward.line)}")
    return Answer(Verdict.NOT_REACHED, f"{symptom}, but no reentrant checkpointing was seen in the forward")


def _nothing_learned(look: Look, gradients: Gradients | None) -> str | None:
    backward = look.seen.backward
    if gradients is None or not gradients.starved or not gradients.trainable or backward is None or backward.error is not None:
        return None
    return _joined(f"backward passed{_at(backward.line)}", _numbers(gradients))


def _learned(look: Look, gradients: Gradients | None, *, here: bool) -> Answer:
    """Refuted where what trains has gradients, else not reached."""
    if gradients is not None and gradients.learned:
        return look.absent(_numbers(gradients), here=here)
    return look.unreached("a gradient" if gradients is None else f"what is missing ({_numbers(gradients)})")


def _backward_elsewhere(look: Look) -> Answer | None:
    """Not reached where the backward pass that was made stands on another line than the finding's."""
    finding, backward = look.finding, look.seen.backward
    last = finding.flow[-1] if finding.flow else None
    if last is None or last.path != finding.path or ".backward()" not in last.message or backward is None or backward.line is None:
        return None
    if backward.line in look.lines or look.hit(look.seen.exception):
        return None
    return Answer(Verdict.NOT_REACHED, f"the run came to the backward pass{_at(backward.line)}, not to that of this finding")


def _no_tensor(error: Failure) -> bool:
    """Whether a value was backpropagated that is no tensor."""
    if error.says("Can't call numpy() on Tensor that requires grad"):
        return True
    return error.type == "AttributeError" and bool(_NO_BACKWARD.search(error.message))


def _in_trainer(error: Failure) -> bool:
    """Whether it arose in a trainer, or accelerate, on what compute_loss or the script gave it."""
    return any(re.match(r"(transformers|trl)/(\w+/)*\w*trainer\.py|accelerate/accelerator\.py", place) for place in error.where[-1:])


def _began(look: Look) -> bool:
    """Whether training with the model had begun, so that its state is that of training."""
    error, forward = look.seen.exception, look.forward
    refused = error is not None and error.says(EMPTY_OPTIMIZER, _PURELY_QUANTIZED)
    return refused or look.no_graph is not None or (forward is not None and bool(forward.training or look.seen.backward is not None))


def _trains(model: ModelSeen | None) -> bool:
    return model is not None and bool(model.trainable)


def _says_it_fails(finding: Finding) -> bool:
    """Whether a finding of LL201 is of a crash or of missing gradients, and not of what is merely not prepared."""
    return finding.failure is not None or "no gradient" in finding.message


def _cpu(call: Forward) -> list[str]:
    return [name for name, device in (call.inputs or {}).items() if device == "cpu"]


def _unreached(seen: Seen, missing: str) -> Answer:
    """Why the step does not decide: how the run ended, or what was not seen in it."""
    error, line = seen.exception, seen.failing_line
    if seen.end in _BEFORE_SCRIPT:
        at = next((number for file, number in reversed(seen.running) if seen.is_script(file)), None)
        why = seen.detail or (error.text if error is not None else "") or f"the run ended with: {seen.end}"
        return Answer(Verdict.NOT_REACHED, why + (f"; it was{_at(at)}" if at is not None else ""))
    if error is not None:
        return _stopped(seen, error, f"{error.text}{_at(line)}")
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


# Faults without a finding

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
    if error.says(_INFERENCE_TENSOR):
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
        why = "all of them are frozen" if gradients.adapters_frozen == gradients.adapters else _numbers(gradients)
        return Fault(backward.line, f"The first backward pass gives no adapter a gradient: {why}")
    if optimizer is None or optimizer.adapters_held != 0 or confirmed or gradients is None or not gradients.adapters_with_grad:
        return None
    line = optimizer.made if optimizer.made is not None else optimizer.line
    if line is None or not optimizer.trainable_missing:
        return None
    return Fault(line, f"No adapter is in the optimizer that steps: {optimizer.trainable_missing} trainable tensors are in none")


# Words


def _lines(span: Span) -> range:
    end = span.end.line if span.end.column > 1 or span.end.line == span.start.line else span.end.line - 1
    return range(span.start.line, (end if end - span.start.line < _LONGEST else span.start.line) + 1)


def _confirmed(look: Look, error: Failure) -> Answer:
    return Answer(Verdict.CONFIRMED, f"{error.text}{_at(look.seen.failing_line)}")


def _at(line: int | None) -> str:
    return f" at line {line}" if line is not None else ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _numbers(gradients: Gradients | None) -> str:
    if gradients is None:
        return ""
    if gradients.adapters:
        return f"{gradients.adapters_with_grad} of {gradients.adapters} adapter tensors have a gradient"
    return f"{gradients.with_grad} of {gradients.trainable} trainable tensors have a gradient"


def _names(places: Iterable[str]) -> str:
    return " and ".join(sorted(places))


def _placed(call: Forward) -> str:
    inputs = ", ".join(f"{name} on {device}" for name, device in list((call.inputs or {}).items())[:3]) or "no tensors"
    return f"{inputs}, the model on {_names(call.model_devices) or 'an unknown device'}"


def _differs(check: Gradcheck) -> str:
    numbers = f"autograd {_number(check.autograd)}, finite differences {_number(check.numeric)}, relative error {_number(check.error)}"
    return f"the gradient of {check.what} of `{check.cls}` (line {check.line}) is wrong: {numbers}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2g}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
