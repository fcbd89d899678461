"""Verdicts on LL3xx: moves and the devices of inputs and models."""

from __future__ import annotations

from collections.abc import Iterable

from lora_lint.findings import Severity, Verdict
from lora_lint.verify.seen import Failure, Forward, headline
from lora_lint.verify.verdicts.look import Answer, Look, at_line, confirmed_by, said_in_processes, verdict_on

_OFFLOADED = "You can't move a model that has some modules offloaded"


@verdict_on("LL301")
def _moved(look: Look) -> Answer:
    """The move's own error, or the next forward that mixes devices; both only where device_map spread the model."""
    seen, error = look.seen, look.seen.exception
    moves = [move for move in seen.moves if move.line in look.own]
    failed = next((move for move in moves if move.error is not None), None)
    if failed is not None:
        return Answer(Verdict.CONFIRMED, f"{headline(failed.error or '')}{at_line(failed.line)}")
    if error is not None and seen.failing_line in look.own and error.says(_OFFLOADED):  # accelerate's, before the model's own method
        return Answer(Verdict.CONFIRMED, f"{error.text}{at_line(seen.failing_line)}")
    if not seen.gpus:
        return Answer(Verdict.NEEDS, "a GPU, real or virtual")
    move = moves[-1] if moves else None
    model = seen.model(move.model) if move is not None else None
    if move is None or model is None:
        return look.unreached("this move")
    if not move.dispatched:
        return look.absent(f"device_map had not placed the model that was moved{at_line(move.line)}")
    if look.finding.failure is not None and not model.places & {"cpu", "disk"}:
        return Answer(Verdict.NEEDS, "a model that does not fit: device_map offloaded nothing of the small one")
    if look.finding.failure is None and len(model.places) < 2:
        only = next(iter(model.places), "one device")
        return Answer(Verdict.NEEDS, f"a second GPU: device_map put all of the model on {only}, where the move{at_line(move.line)} changes nothing")
    if error is not None and error.mixed_devices:
        return Answer(Verdict.CONFIRMED, f"after the move{at_line(move.line)}: {error.text}{at_line(seen.failing_line)}")
    after = [forward for forward in seen.forwards if forward.model == model.id and (seen.done or (forward.line or 0) > (move.line or 0))]
    if any(forward.error is None and forward.output_requires_grad is not None for forward in after):
        return look.absent(f"the move{at_line(move.line)} and the forward after it passed, with the model on {_names(model.places)}", met=True)
    return look.unreached("a forward after the move")


@verdict_on("LL302")
def _kbit_moved(look: Look) -> Answer:
    """The move's own error."""
    moves = [move for move in look.seen.moves if move.line in look.own]
    failed = next((move for move in moves if move.error is not None), None)
    if failed is not None:
        return Answer(Verdict.CONFIRMED, f"{headline(failed.error or '')}{at_line(failed.line)}")
    models = [look.seen.model(move.model) for move in moves]
    bits = next((model.quantized for model in models if model is not None and model.quantized), None)
    if moves and bits is not None:
        return look.absent(f".{moves[0].method}() of the {bits}-bit model passed{at_line(moves[0].line)}", met=True)
    if moves:
        return Answer(Verdict.NOT_REACHED, f"the model that was moved{at_line(moves[0].line)} was not quantized in this run")
    return look.unreached("this move")


@verdict_on("LL303")
def _inputs(look: Look) -> Answer:
    """The call itself: an operation in it mixes devices, or it passes with the model on a GPU."""
    seen, error, calls = look.seen, look.seen.exception, look.calls
    if not seen.gpus:
        return Answer(Verdict.NEEDS, "a GPU, real or virtual")
    moved = any(call.error is not None and call.inputs and call.on_gpu and _cpu(call) == [] for call in calls)
    if error is not None and error.mixed_devices and look.hit(error, look.own) and not moved:
        return confirmed_by(look, error)
    swallowed = next((call for call in calls if call.error is not None and Failure(message=call.error).mixed_devices and _cpu(call)), None)
    if swallowed is not None:
        return Answer(Verdict.CONFIRMED, f"{headline(swallowed.error or '')}{at_line(swallowed.line)}")
    call = next((call for call in calls if call.error is None and call.inputs is not None), None)
    if call is None:
        return look.unreached("this call: the run ends at the first optimizer step")
    model = seen.model(call.model)
    if len(call.model_devices) > 1 or (model is not None and len(model.places) > 1):
        return Answer(Verdict.NEEDS, "a run on one GPU: a model that is spread over several devices moves its inputs itself")
    evidence = f"the call{at_line(call.line)} passed with {_placed(call)}"
    return look.absent(evidence, met=call.on_gpu)


@verdict_on("LL304")
def _literal_device(look: Look) -> Answer:
    """A call of the model with inputs on another GPU than it is on; a note is about other machines than this one."""
    seen = look.seen
    if look.finding.severity is Severity.NOTE:
        return Answer(Verdict.NEEDS, "a machine on which device_map chooses another device")
    calls = [forward for forward in seen.forwards if look.model is not None and forward.model == look.model.id and forward.inputs]
    for call in calls:
        elsewhere = [device for device in (call.inputs or {}).values() if device.startswith("cuda") and device not in call.model_devices]
        if call.error is not None and elsewhere and Failure(message=call.error).mixed_devices:
            return Answer(Verdict.CONFIRMED, f"{headline(call.error)}{at_line(call.line)}; {_placed(call)}")
    if seen.gpus < 2:
        return Answer(Verdict.NEEDS, "a second GPU, real or virtual")
    if "the GPU of this process" in look.finding.message:
        return Answer(Verdict.NEEDS, "a second process: in the first one both are on the same GPU")
    passed = next((call for call in calls if call.error is None and call.line in look.lines), None)
    if passed is not None:
        return look.absent(f"the call{at_line(passed.line)} passed with {_placed(passed)}", met=passed.on_gpu)
    return look.unreached("the call that gets these inputs")


@verdict_on("LL307")
def _spread_in_each_process(look: Look) -> Answer:
    """accelerate's refusal, where the script is its own launcher."""
    return said_in_processes(look, "You can't train a model that has been loaded with `device_map='auto'`")


def _cpu(call: Forward) -> list[str]:
    return [name for name, device in (call.inputs or {}).items() if device == "cpu"]


def _names(places: Iterable[str]) -> str:
    return " and ".join(sorted(places))


def _placed(call: Forward) -> str:
    inputs = ", ".join(f"{name} on {device}" for name, device in list((call.inputs or {}).items())[:3]) or "no tensors"
    return f"{inputs}, the model on {_names(call.model_devices) or 'an unknown device'}"
