"""What each rule makes of what a step saw. The findings are those of the rules' own examples; what was seen is written down here."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lora_lint import codes, rules
from lora_lint.config import Settings
from lora_lint.engine import check_source
from lora_lint.findings import Finding, Position, Severity, Span, Verdict
from lora_lint.source import Source
from lora_lint.target import Target
from lora_lint.verify.seen import Seen
from lora_lint.verify.verdicts import decide
from lora_lint.verify.verdicts.look import RULES
from lora_lint.verify.verdicts.unexplained import Fault, unexplained

PAGES = Path(__file__).resolve().parents[2] / "rules"
SCRIPT = "/project/train.py"
NO_GRAPH = "element 0 of tensors does not require grad and does not have a grad_fn"
MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
CONFIRMED, REFUTED, NOT_REACHED, NEEDS = Verdict.CONFIRMED, Verdict.REFUTED, Verdict.NOT_REACHED, Verdict.NEEDS
FINE = {"model": 1, "trainable": 8, "with_grad": 8, "adapters": 8, "adapters_with_grad": 8}
NONE = {**FINE, "with_grad": 0, "adapters_with_grad": 0, "none_count": 8}
FROZEN = {**FINE, "trainable": 0, "with_grad": 0, "adapters_with_grad": 0, "adapters_frozen": 8}
ZERO = {**FINE, "with_grad": 0, "adapters_with_grad": 0, "zero_count": 8}


@cache
def found(code: str, example: str = "01") -> Finding:
    """The finding of a rule on one of its examples."""
    path = next(path for path in PAGES.glob(f"{code}-*/bad/{example}-*.py") if not path.name.endswith(".fixed.py"))
    target = re.search(r"^# target: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    settings = Settings(frozenset(codes.names()), Target.parse([(target[1], "# target")]) if target else Target.unknown(), Severity.NOTE)
    findings = check_source(Source.from_bytes(path.read_bytes(), "train.py"), settings).findings
    return next(finding for finding in findings if finding.code == code)


def line(finding: Finding, part: str = "") -> int:
    """The line of the finding, or of the step of its flow that says something."""
    return next(step.span.start.line for step in finding.flow if part in step.message) if part else finding.span.start.line


def model(*lines: int, **state: Any) -> dict[str, Any]:
    known = {"id": 1, "class": "LlamaForCausalLM", "line": lines[0] if lines else None, "lines": list(lines), "adapter_tensors": 8, "trainable": 8}
    return {**known, **state}


def forward(at: int | None = 90, **state: Any) -> dict[str, Any]:
    known = {"model": 1, "line": at, "training": True, "grad_enabled": True, "output_requires_grad": True, "checkpoint_calls": 0}
    return {**known, **state}


def backward(at: int | None = 91, **state: Any) -> dict[str, Any]:
    return {"line": at, "model": 1, "loss_requires_grad": True, "grad_fn": "NllLossBackward0", "leaf": False, "error": None, **state}


def raised(kind: str, message: str, at: int = 91, stage: str = "backward", where: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """A run that ended in an exception."""
    error = {"type": kind, "message": message, "lines": [[SCRIPT, at]], "where": list(where), "stage": stage}
    return {"end": "exception", "exception": error, **more}


def run(**data: Any) -> Seen:
    """A report on a step that was done, as far as nothing else is said."""
    known = {"end": "step", "device": "virtual cuda (1)", "versions": {"python": "3.11.7", "torch": "2.13.0"}}
    return Seen.from_json({**known, **data}, SCRIPT)


def verdict(finding: Finding, **data: Any) -> tuple[Verdict, str]:
    made = decide(finding, run(**data))
    assert "\n" not in made.evidence
    assert made.evidence
    return made.verdict, made.evidence


def test_every_rule_has_a_function_and_every_function_a_rule() -> None:
    assert set(RULES) == set(rules.REGISTRY)


@pytest.mark.parametrize("code", sorted(RULES))
@pytest.mark.parametrize(
    "seen",
    [
        Seen(SCRIPT),
        run(),
        run(end="timeout", detail="the script did not reach the end of its first step within 60 s"),
        run(end="finished"),
        run(end="exit", exit_code=2),
        run(**raised("ZeroDivisionError", "division by zero", stage="before the step")),
        run(end="imports failed", exception={"type": "ImportError", "message": "no torch"}),
    ],
    ids=["nothing", "step", "timeout", "finished", "exit", "exception", "imports"],
)
def test_without_an_observation_nothing_is_confirmed_or_refuted(code: str, seen: Seen) -> None:
    answer = decide(found(code), seen)
    assert answer.verdict in (NOT_REACHED, NEEDS)
    assert answer.evidence
    assert "None" not in answer.evidence


def test_a_verdict_says_on_what_it_was_seen() -> None:
    answer = decide(found("LL101"), run())
    assert answer.versions == (("python", "3.11.7"), ("torch", "2.13.0"))
    assert answer.device == "virtual cuda (1)"


def test_a_code_without_a_rule_is_not_judged() -> None:
    assert decide(replace(found("LL101"), code=codes.UNUSED), run()).verdict is NOT_REACHED


@pytest.mark.parametrize(
    ("data", "expected", "says"),
    [
        (raised("RuntimeError", "No GPU found. A GPU is needed for quantization."), NEEDS, "a GPU: RuntimeError: No GPU found"),
        (raised("RuntimeError", "No GPU found", device="cuda (NVIDIA H200)"), NOT_REACHED, "No GPU found"),
        (raised("ModuleNotFoundError", "No module named 'wandb'"), NEEDS, "a package: ModuleNotFoundError: No module named 'wandb' at line 91"),
        (raised("FileNotFoundError", "[Errno 2] No such file or directory: 'data.json'"), NEEDS, "a file"),
        (raised("EOFError", "EOF when reading a line"), NEEDS, "input"),
        (raised("KeyError", "'answer'", stage="before the step"), NOT_REACHED, "the run stopped earlier: KeyError: 'answer' at line 91"),
        (
            raised("KeyError", "'answer'", stage="before the step", replaced=[{"what": "dataset", "by": "64 rows of synthetic columns: text"}]),
            NEEDS,
            "the real data",
        ),
        (raised("KeyError", "'answer'", stage="before the step", replaced=[{"what": "dataset", "by": "its first 64 rows"}]), NOT_REACHED, "stopped"),
        ({"end": "timeout", "detail": "not within 60 s", "running": [[SCRIPT, 7]]}, NOT_REACHED, "not within 60 s; it was at line 7"),
        ({"end": "exit", "exit_code": 3}, NOT_REACHED, "status 3"),
        ({"end": "finished"}, NOT_REACHED, "without an optimizer step"),
    ],
)
def test_what_kept_the_run_from_the_step_is_told(data: dict[str, Any], expected: Verdict, says: str) -> None:
    answer, evidence = verdict(found("LL402"), **data)
    assert answer is expected
    assert says in evidence


def test_ll101_is_confirmed_by_a_missing_graph_under_reentrant_checkpointing() -> None:
    finding = found("LL101")
    made = [model(line(finding, "loaded"), line(finding, "attached"))]
    calls = [forward(31, checkpoint_calls=2, checkpoint_reentrant=[True], output_requires_grad=False)]
    answer, evidence = verdict(finding, models=made, forwards=calls, backward=backward(31), **raised("RuntimeError", NO_GRAPH, 31))
    assert answer is CONFIRMED
    assert evidence == f"RuntimeError: {NO_GRAPH} at line 31; reentrant checkpointing ran in the forward at line 31"
    answer, _ = verdict(finding, models=made, forwards=[forward(31)], backward=backward(31), **raised("RuntimeError", NO_GRAPH, 31))
    assert answer is NOT_REACHED, "no checkpointing ran"


def test_ll101_is_confirmed_by_adapters_without_gradients_and_refuted_by_gradients() -> None:
    finding = found("LL101")
    made = [model(line(finding, "loaded"), line(finding, "attached"))]
    on = [forward(31, checkpoint_calls=2, checkpoint_reentrant=[True])]
    partly = {**FINE, "with_grad": 2, "none_count": 6}
    answer, evidence = verdict(finding, models=made, forwards=on, backward=backward(), gradients=partly)
    assert (answer, evidence.partition(";")[0]) == (CONFIRMED, "6 of 8 trainable tensors have no gradient")
    assert verdict(finding, models=made, forwards=on, backward=backward(), gradients={**FINE, "with_grad": 7, "none_count": 1})[0] is NOT_REACHED
    answer, evidence = verdict(finding, models=made, forwards=on, backward=backward(), gradients=FINE)
    assert (answer, evidence) == (REFUTED, "8 of 8 adapter tensors have a gradient, with reentrant checkpointing in the forward")
    off = [forward(31)]
    answer, evidence = verdict(finding, models=made, forwards=off, backward=backward(), gradients=FINE)
    assert (answer, evidence) == (NOT_REACHED, "8 of 8 adapter tensors have a gradient, but no checkpointing ran in the forward")
    conditional = replace(finding, condition="args.gradient_checkpointing")
    assert verdict(conditional, models=made, forwards=on, backward=backward(), gradients=FINE)[0] is REFUTED
    bare = [model(line(finding, "loaded"))]
    assert verdict(finding, models=bare, forwards=on, backward=backward(), gradients=FINE)[0] is NOT_REACHED, "the wrap comes later"


@pytest.mark.parametrize("code", ["LL101", "LL201", "LL202", "LL402", "LL403"])
def test_what_was_seen_of_another_model_decides_nothing(code: str) -> None:
    other = [model(200, 201, frozen_adapters=8, trainable=0, quantized=4)]
    calls = [forward(checkpoint_calls=2, checkpoint_reentrant=[True])]
    for gradients in (FINE, NONE, FROZEN):
        assert verdict(found(code), models=other, forwards=calls, backward=backward(), gradients=gradients)[0] is NOT_REACHED


def test_of_several_models_the_one_made_on_the_lines_of_the_finding_is_looked_at() -> None:
    finding = found("LL402")
    other = {**model(200), "id": 2}
    data = {"models": [other, model(line(finding), frozen_adapters=8)], "forwards": [forward()], "backward": backward(model=2)}
    answer, _ = verdict(finding, **data, gradients={**FINE, "model": 2}, gradients_of_others=[FROZEN])
    assert answer is CONFIRMED
    answer, _ = verdict(finding, **data, gradients={**FINE, "model": 2}, gradients_of_others=[FINE])
    assert answer is REFUTED


def test_ll102_is_confirmed_by_a_loss_without_graph_over_an_output_that_has_one() -> None:
    finding = found("LL102")
    end = line(finding, "backpropagated")
    made = [model(line(finding, "the model"))]
    failed = raised("RuntimeError", NO_GRAPH, end)
    answer, evidence = verdict(finding, models=made, forwards=[forward()], backward=backward(end), **failed)
    assert answer is CONFIRMED
    assert evidence.endswith("the model's output did require grad")
    dead = [forward(output_requires_grad=False)]
    assert verdict(finding, models=made, forwards=dead, backward=backward(end), **failed)[0] is NOT_REACHED
    elsewhere = raised("RuntimeError", NO_GRAPH, 300)
    assert verdict(finding, models=made, forwards=[forward()], backward=backward(300), **elsewhere)[0] is NOT_REACHED


def test_ll102_is_confirmed_by_numbers_and_by_gradients_that_are_all_missing() -> None:
    finding = found("LL102")
    end, made = line(finding, "backpropagated"), [model(line(found("LL102"), "the model"))]
    assert verdict(finding, **raised("AttributeError", "'float' object has no attribute 'backward'", end))[0] is CONFIRMED
    assert verdict(finding, **raised("AttributeError", "'float' object has no attribute 'backward'", 300))[0] is NOT_REACHED
    in_trainer = raised("AttributeError", "'float' object has no attribute 'mean'", 300, where=("transformers/trainer.py:2100",))
    assert verdict(found("LL102", "02"), **in_trainer)[0] is CONFIRMED
    assert verdict(finding, **raised("AttributeError", "'Namespace' object has no attribute 'item'", end))[0] is NOT_REACHED
    assert verdict(finding, models=made, forwards=[forward()], backward=backward(end), gradients=NONE)[0] is CONFIRMED
    assert verdict(finding, models=made, forwards=[forward()], backward=backward(end), gradients=FINE)[0] is REFUTED
    assert verdict(finding, models=made, forwards=[forward()], backward=backward(end), gradients=ZERO)[0] is NOT_REACHED
    assert verdict(finding, models=[model(300)], forwards=[forward()], backward=backward(end), gradients=FINE)[0] is REFUTED, "its own backward"
    assert verdict(finding, models=[model(300)], forwards=[forward()], backward=backward(None), gradients=FINE)[0] is NOT_REACHED


def test_ll103_is_confirmed_by_a_forward_without_gradients() -> None:
    finding = found("LL103")
    at, end = line(finding), line(finding, "backpropagated")
    failed = raised("RuntimeError", NO_GRAPH, end)
    off = [forward(at, grad_enabled=False, output_requires_grad=False)]
    answer, evidence = verdict(finding, models=[model(1)], forwards=off, backward=backward(end), **failed)
    assert answer is CONFIRMED
    assert evidence.endswith(f"the forward ran with gradients switched off at line {at}")
    assert verdict(finding, models=[model(1)], forwards=[forward(at)], backward=backward(end), **failed)[0] is NOT_REACHED, "cut off later"
    frozen = [forward(at, output_requires_grad=False)]
    assert verdict(finding, models=[model(1, trainable=0)], forwards=frozen, backward=backward(end), **failed)[0] is NOT_REACHED, "frozen"
    assert verdict(finding, **raised("RuntimeError", "Inference tensors cannot be saved for backward."))[0] is CONFIRMED


def test_ll103_is_confirmed_by_adapters_without_gradients_below_a_head_and_refuted_by_gradients() -> None:
    finding = found("LL103")
    data = {"models": [model(1)], "forwards": [forward(line(finding))], "backward": backward(line(finding, "backpropagated"))}
    head = {**FINE, "trainable": 10, "with_grad": 2, "adapters_with_grad": 0, "none_count": 8}
    assert verdict(finding, **data, gradients=head) == (CONFIRMED, "0 of 8 adapter tensors have a gradient")
    assert verdict(finding, **data, gradients=FINE)[0] is REFUTED
    data["forwards"], data["backward"] = [forward(200)], backward(None)
    assert verdict(finding, **data, gradients=FINE)[0] is NOT_REACHED, "another forward"


def test_ll104_is_decided_by_finite_differences_of_the_input() -> None:
    finding = found("LL104")
    cls = finding.message.partition("`")[2].partition(".")[0]
    check = {"class": cls, "file": SCRIPT, "line": 14, "what": "input 0", "autograd": -0.1, "numeric": 2.3, "error": 0.98, "ok": False}
    answer, evidence = verdict(finding, gradchecks=[{**check, "ok": True}, check])
    assert answer is CONFIRMED
    assert "autograd -0.1, finite differences 2.3, relative error 0.98" in evidence
    fine = {**check, "ok": True, "error": 1e-9}
    assert verdict(finding, gradchecks=[fine])[0] is REFUTED
    assert verdict(finding, gradchecks=[fine, {**check, "ok": None}])[0] is NOT_REACHED
    assert verdict(finding, gradchecks=[{**check, "what": "lora_A"}])[0] is NOT_REACHED
    assert verdict(finding, gradchecks=[{**check, "class": "Other"}])[0] is NOT_REACHED


def test_ll105_is_confirmed_by_a_backward_that_passes_and_reaches_nothing() -> None:
    finding = found("LL105")
    end = line(finding, "backpropagated")
    leaf = backward(end, leaf=True, grad_fn=None)
    answer, evidence = verdict(finding, models=[model(1)], forwards=[forward()], backward=leaf, gradients=NONE)
    assert answer is CONFIRMED
    assert evidence == f"backward passed at line {end}; the loss was a leaf without a graph; 0 of 8 adapter tensors have a gradient"
    assert verdict(finding, backward=leaf)[0] is CONFIRMED
    assert verdict(finding, models=[model(1)], backward=backward(end), gradients=FROZEN)[0] is CONFIRMED
    assert verdict(finding, models=[model(1)], backward=backward(end))[0] is NOT_REACHED
    assert verdict(finding, models=[model(1)], backward=backward(end), gradients=FINE)[0] is REFUTED
    assert verdict(finding, models=[model(1)], backward=backward(300), gradients=NONE)[0] is NOT_REACHED
    assert verdict(finding, models=[model(1)], backward=backward(end, error="RuntimeError: no"), gradients=NONE)[0] is NOT_REACHED


def test_ll201_that_predicts_a_failure_is_decided_by_the_graph() -> None:
    finding = found("LL201")
    assert finding.failure is not None
    made = [model(line(finding, "loaded"), line(finding), quantized=4, prepared_kbit=False)]
    on = [forward(27, checkpoint_calls=2, checkpoint_reentrant=[True], output_requires_grad=False)]
    assert verdict(finding, models=made, forwards=on, backward=backward(27), **raised("RuntimeError", NO_GRAPH, 27))[0] is CONFIRMED
    passed = [forward(27, checkpoint_calls=2, checkpoint_reentrant=[False])]
    answer, evidence = verdict(finding, models=made, forwards=passed, backward=backward(27), gradients=FINE)
    assert answer is REFUTED
    assert "on a base in 4 bits that nothing prepared" in evidence
    off = [forward(27)]
    assert verdict(finding, models=made, forwards=off, backward=backward(27), gradients=FINE)[0] is NOT_REACHED, "checkpointing may come later"
    later = [{**made[0], "line": 300, "lines": [line(finding, "loaded")]}]
    assert verdict(finding, models=later, forwards=passed, backward=backward(27), gradients=FINE)[0] is NOT_REACHED, "and so may the wrap"
    plain = [{**made[0], "quantized": None}]
    assert verdict(finding, models=plain, forwards=passed, backward=backward(27), gradients=FINE)[0] is NOT_REACHED


def test_ll201_that_warns_is_decided_by_the_types_of_the_base() -> None:
    finding = found("LL201", "02")
    assert finding.failure is None
    data = {"forwards": [forward()], "backward": backward(), "gradients": FINE}
    made = model(line(finding, "loaded"), line(finding), quantized=8, prepared_kbit=False)
    answer, evidence = verdict(finding, models=[{**made, "dtypes": {"torch.float16": 5}}], **data)
    assert answer is CONFIRMED
    assert evidence.endswith("on a base in 8 bits that nothing prepared, 5 of its tensors in half precision")
    assert verdict(finding, models=[made], **data)[0] is CONFIRMED
    assert verdict(finding, models=[{**made, "dtypes": {"torch.float32": 5}}], **data)[0] is REFUTED
    assert verdict(finding, models=[{**made, "prepared_kbit": True}], **data)[0] is REFUTED


@pytest.mark.parametrize("code", ["LL202", "LL402", "LL403"])
def test_frozen_adapters_are_confirmed_by_their_flags_and_refuted_by_gradients(code: str) -> None:
    finding = found(code)
    made = model(*(step.span.start.line for step in finding.flow), prepared_kbit=True)
    frozen = {**made, "frozen_adapters": 8, "trainable": 0}
    data = {"forwards": [forward()], "backward": backward()}
    answer, evidence = verdict(finding, models=[frozen], **data, gradients=FROZEN)
    assert (answer, evidence) == (CONFIRMED, "8 of 8 adapter tensors were frozen when training began")
    answer, evidence = verdict(finding, models=[frozen], forwards=[forward()], **raised("RuntimeError", NO_GRAPH))
    assert answer is CONFIRMED
    assert evidence.endswith("have a grad_fn at line 91")
    empty = raised("ValueError", "optimizer got an empty parameter list", 40, "before the step")
    assert verdict(finding, models=[frozen], **empty)[0] is CONFIRMED
    assert verdict(finding, models=[frozen], **raised("KeyError", "'x'", stage="before the step"))[0] is NOT_REACHED, "training had not begun"
    assert verdict(finding, models=[made], **data, gradients=FINE) == (REFUTED, "8 of 8 adapter tensors have a gradient")
    assert verdict(finding, models=[made], **data, gradients={**FINE, "adapters_frozen": 4})[0] is NOT_REACHED
    answer, evidence = verdict(replace(finding, condition="args.resume"), models=[made], **data, gradients=FINE)
    assert answer is NOT_REACHED
    assert "args.resume" in evidence


@pytest.mark.parametrize("code", ["LL202", "LL402", "LL403"])
def test_a_first_stage_that_trains_does_not_refute_what_the_second_does_to_its_adapters(code: str) -> None:
    finding = found(code)
    base = min(step.span.start.line for step in finding.flow)
    data = {"forwards": [forward()], "backward": backward(), "gradients": FINE}
    first = model(base, 300) if code != "LL202" else model(base, line(finding, "attached"), prepared_kbit=False)
    answer, evidence = verdict(finding, models=[first], **data)
    assert answer is NOT_REACHED
    assert evidence


def test_an_adapter_that_was_made_up_on_the_line_of_the_finding_shows_that_it_ran() -> None:
    finding = found("LL402")
    data = {"models": [model(line(finding, "base"))], "forwards": [forward()], "backward": backward(), "gradients": FINE}
    assert verdict(finding, **data)[0] is NOT_REACHED
    assert verdict(finding, **data, replaced=[{"what": "adapter", "line": line(finding)}])[0] is REFUTED
    assert verdict(finding, **data, replaced=[{"what": "dataset", "line": line(finding)}])[0] is NOT_REACHED
    assert verdict(finding, **data, replaced=[{"what": "adapter", "line": None}])[0] is NOT_REACHED


def test_ll403_with_a_stored_configuration_is_not_refuted_by_a_made_up_one() -> None:
    finding = found("LL403", "02")
    made = [model(*(step.span.start.line for step in finding.flow))]
    data = {"models": made, "forwards": [forward()], "backward": backward(), "gradients": FINE}
    assert verdict(finding, **data)[0] is REFUTED
    made_up = [{"what": "adapter", "id": "org/adapter", "by": "random LORA", "line": line(finding, "the configuration")}]
    assert verdict(finding, **data, replaced=made_up)[0] is NEEDS
    assert verdict(finding, **data, replaced=[{**made_up[0], "line": 300}])[0] is REFUTED
    unread = replace(finding, failure=None, message="get_peft_model makes a fresh random adapter: the stored weights are never read")
    assert verdict(unread, **data)[0] is NOT_REACHED


def test_ll203_is_decided_by_the_load() -> None:
    finding = found("LL203")
    at = line(finding, "loader")
    message = "LlamaForCausalLM.__init__() got an unexpected keyword argument 'load_in_4bit'"
    answer, evidence = verdict(finding, **raised("TypeError", message, at, "before the step"))
    assert (answer, evidence) == (CONFIRMED, f"TypeError: {message} at line {at}")
    assert verdict(finding, **raised("TypeError", message, 300, "before the step"))[0] is NOT_REACHED
    assert verdict(finding, **raised("OSError", "no such model", at, "before the step"))[0] is NOT_REACHED
    assert verdict(finding, models=[model(at)], **raised("KeyError", "'x'", 300))[0] is REFUTED


def test_ll301_needs_a_model_that_is_spread() -> None:
    finding = found("LL301")
    at = line(finding)
    move = {"model": 1, "line": at, "method": "cuda", "to": "cuda", "dispatched": True, "error": None}
    spread, single = model(7, device_map={"a": "0", "b": "1"}), model(7, device_map={"": "0"})
    two = {"device": "virtual cuda (2)"}
    answer, evidence = verdict(finding, models=[single], moves=[move], forwards=[forward()])
    assert answer is NEEDS
    assert "all of the model on cuda:0" in evidence
    assert verdict(finding, models=[spread], moves=[move], **two)[0] is NOT_REACHED, "no forward yet"
    assert verdict(finding, models=[spread], moves=[move], forwards=[forward()], **two)[0] is REFUTED
    assert verdict(finding, models=[spread], moves=[move], forwards=[forward(output_requires_grad=None)], **two)[0] is NOT_REACHED
    assert verdict(finding, models=[spread], moves=[move], forwards=[forward(error="ValueError: no")], **two)[0] is NOT_REACHED
    before = {"end": "finished", "forwards": [forward(at - 1)]}
    assert verdict(finding, models=[spread], moves=[move], **before, **two)[0] is NOT_REACHED, "the forward came first"
    failed = raised("RuntimeError", MIXED, 20, "forward")
    answer, evidence = verdict(finding, models=[spread], moves=[move], **failed, **two)
    assert answer is CONFIRMED
    assert evidence.startswith(f"after the move at line {at}: RuntimeError: Expected all tensors")
    refused = {**move, "error": "RuntimeError: You can't move a model that has some modules offloaded to cpu or disk."}
    assert verdict(finding, models=[single], moves=[refused])[0] is CONFIRMED
    assert verdict(finding, models=[spread], moves=[{**move, "line": 300}], **two)[0] is NOT_REACHED
    assert verdict(finding, models=[spread], moves=[{**move, "dispatched": False}], **two)[0] is REFUTED
    assert verdict(finding, models=[spread], moves=[move], device="cpu")[0] is NEEDS
    offloaded = replace(finding, failure="RuntimeError: You can't move a model")
    assert verdict(offloaded, models=[spread], moves=[move], forwards=[forward()], **two)[0] is NEEDS


def test_ll302_is_decided_by_the_move() -> None:
    finding = found("LL302")
    move = {"model": 1, "line": line(finding), "method": "cuda", "to": "cuda", "dispatched": True, "error": None}
    refused = {**move, "error": "ValueError: Calling `cuda()` is not supported for `8-bit` quantized models."}
    answer, evidence = verdict(finding, moves=[refused])
    assert answer is CONFIRMED
    assert evidence == f"{refused['error']} at line {line(finding)}"
    assert verdict(finding, models=[model(8, quantized=8)], moves=[move])[0] is REFUTED
    assert verdict(finding, models=[model(8)], moves=[move])[0] is NOT_REACHED
    assert verdict(finding, models=[model(8, quantized=8)], moves=[{**move, "line": 300}])[0] is NOT_REACHED


def test_ll303_is_decided_by_the_call_on_its_line() -> None:
    finding = found("LL303")
    at = line(finding)
    call = forward(at, inputs={"input_ids": "cpu"}, model_devices=["cuda:0"])
    failed = raised("RuntimeError", MIXED, at, "forward")
    assert verdict(finding, forwards=[{**call, "error": f"RuntimeError: {MIXED}"}], **failed)[0] is CONFIRMED
    assert verdict(finding, **failed)[0] is CONFIRMED
    inside = {**call, "inputs": {"input_ids": "cuda:0"}, "error": f"RuntimeError: {MIXED}"}
    assert verdict(finding, forwards=[inside], **failed)[0] is NOT_REACHED, "the inputs are not to blame"
    assert verdict(finding, forwards=[{**call, "error": f"RuntimeError: {MIXED}"}])[0] is CONFIRMED, "caught by the script"
    assert verdict(finding, **raised("RuntimeError", MIXED, 300, "forward"))[0] is NOT_REACHED
    answer, evidence = verdict(finding, forwards=[{**call, "inputs": {"input_ids": "cuda:0"}}])
    assert (answer, evidence) == (REFUTED, f"the call at line {at} passed with input_ids on cuda:0, the model on cuda:0")
    assert verdict(finding, forwards=[call], device="cpu")[0] is NEEDS
    assert verdict(finding, forwards=[{**call, "model_devices": ["cuda:0", "cuda:1"]}])[0] is NEEDS
    assert verdict(finding, forwards=[forward(300)])[0] is NOT_REACHED
    conditional = replace(finding, condition="args.cuda")
    assert verdict(conditional, forwards=[{**call, "model_devices": ["cpu"]}])[0] is NOT_REACHED


def test_ll304_needs_a_second_gpu_and_a_call_on_the_wrong_one() -> None:
    finding = replace(found("LL304", "02"), severity=Severity.WARNING)
    two = {"device": "virtual cuda (2)", "models": [model(line(finding, "device_map"))]}
    call = forward(inputs={"input_ids": "cuda:0"}, model_devices=["cuda:1"])
    assert verdict(finding, **two, forwards=[{**call, "error": f"RuntimeError: {MIXED}"}])[0] is CONFIRMED
    assert verdict(finding, **two, forwards=[call])[0] is NOT_REACHED, "another call"
    same = {**call, "inputs": {"input_ids": "cuda:1"}, "error": f"RuntimeError: {MIXED}"}
    assert verdict(finding, **two, forwards=[same])[0] is NOT_REACHED, "something else is mixed"
    assert verdict(finding, **two, forwards=[{**call, "line": line(finding)}])[0] is REFUTED
    assert verdict(finding, **{**two, "device": "virtual cuda (1)"}, forwards=[call])[0] is NEEDS
    assert verdict(found("LL304"), **two, forwards=[call])[0] is NEEDS, "a second process"
    assert verdict(replace(finding, severity=Severity.NOTE), **two)[0] is NEEDS


def test_ll406_is_decided_by_the_number_of_saved_tensors() -> None:
    finding = found("LL406")
    save = {"line": 60, "method": "save_pretrained", "tensors": 0, "expected": 8}
    assert verdict(finding, saves=[save]) == (CONFIRMED, "save_pretrained at line 60 writes 0 of 8 adapter tensors")
    full = {**save, "tensors": 8}
    at = line(finding, "saved")
    assert verdict(finding, saves=[{**full, "line": at}]) == (REFUTED, f"save_pretrained at line {at} writes 8 of 8 adapter tensors")
    assert verdict(finding, saves=[full])[0] is NOT_REACHED, "another save"
    assert verdict(finding, saves=[{**full, "line": at}, {**save, "line": None}])[0] is CONFIRMED
    assert verdict(finding, saves=[{**save, "expected": 0}])[0] is NOT_REACHED


def test_ll501_is_decided_by_what_its_optimizer_holds() -> None:
    finding = found("LL501")
    held = {"class": "AdamW", "made": line(finding), "adapters_held": 0, "trainable_missing": 8}
    answer, evidence = verdict(finding, optimizer=held)
    assert answer is CONFIRMED
    assert evidence == f"the AdamW made at line {line(finding)} holds no adapter tensor; 8 trainable tensors are in no optimizer"
    full = {**held, "adapters_held": 8, "trainable_missing": 0}
    assert verdict(finding, optimizer=full)[0] is REFUTED
    assert verdict(finding, optimizer={**full, "made": 300})[0] is NOT_REACHED
    assert verdict(finding, optimizer={**held, "made": 300})[0] is NOT_REACHED
    assert verdict(finding, optimizer={**full, "made": 300}, models=[model(line(finding, "attached"))])[0] is NOT_REACHED


def test_ll502_is_decided_by_what_requires_grad_and_gets_one() -> None:
    finding = found("LL502")
    at = line(finding, "attached")
    nothing = model(at, trainable=0, parameters=29)
    failed = raised("RuntimeError", NO_GRAPH)
    dead = [forward(output_requires_grad=False)]
    answer, evidence = verdict(finding, models=[nothing], forwards=dead, backward=backward(error=f"RuntimeError: {NO_GRAPH}"), **failed)
    assert answer is CONFIRMED
    assert evidence.startswith("0 of 29 parameters require grad when training begins; RuntimeError")
    assert verdict(finding, models=[model(at)], forwards=dead, **failed)[0] is CONFIRMED, "adapters that the forward goes around"
    assert verdict(finding, models=[model(at)], forwards=[forward()], **failed)[0] is NOT_REACHED
    assert verdict(finding, models=[model(at)], forwards=[forward()], backward=backward(), gradients=NONE)[0] is CONFIRMED
    answer, evidence = verdict(finding, models=[model(at)], forwards=[forward()], backward=backward(), gradients=FINE)
    assert answer is NOT_REACHED, "what freezes may come after the first stage"
    assert evidence.startswith("8 of 8 adapter tensors have a gradient, but")


# Faults without a finding


def test_a_step_that_trains_shows_no_fault() -> None:
    assert unexplained([], run(models=[model(1)], forwards=[forward()], backward=backward(), gradients=FINE)) is None
    assert unexplained([], run()) is None
    assert unexplained([], Seen(SCRIPT)) is None


def test_an_exception_of_the_script_is_a_fault_at_its_line() -> None:
    text = f"RuntimeError: {NO_GRAPH}"
    seen = run(models=[model(1)], forwards=[forward()], backward=backward(), **raised("RuntimeError", NO_GRAPH))
    assert unexplained([], seen) == Fault(91, f"The script stops before its first optimizer step is done: {text}", text)
    finding = found("LL402")
    assert unexplained([finding], seen) is not None, "a finding that is not confirmed explains nothing"
    mine = run(models=[model(line(finding), frozen_adapters=8, trainable=0)], forwards=[forward()], **raised("RuntimeError", NO_GRAPH))
    assert unexplained([finding], mine) is None


@pytest.mark.parametrize(
    ("data", "reported"),
    [
        (raised("RuntimeError", MIXED, stage="forward"), True),
        (raised("RuntimeError", MIXED, stage="forward", device="cpu"), False),
        (raised("RuntimeError", MIXED, stage="before the step"), False),
        (raised("NameError", "name 'modle' is not defined", stage="before the step"), True),
        (raised("NameError", "name 'x' is not defined", where=("peft/mapping.py:3",)), False),
        (raised("SyntaxError", "invalid syntax", stage="before the step"), True),
        (raised("AttributeError", "'float' object has no attribute 'backward'", stage="before the step"), True),
        (raised("ImportError", "cannot import name 'AdamW' from 'transformers' (/site/transformers/__init__.py)"), True),
        (raised("ImportError", "cannot import name 'helper' from 'utils'"), False),
        (raised("TypeError", "TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'"), True),
        (raised("TypeError", "main() got an unexpected keyword argument 'x'"), False),
        (raised("KeyError", "'answer'"), False),
        (raised("RuntimeError", "The size of tensor a (64) must match the size of tensor b (4096)", stage="forward"), False),
        (raised("FileNotFoundError", "data.json"), False),
        (raised("PermissionError", "--verify allows no writing"), False),
    ],
)
def test_only_what_verify_cannot_have_caused_is_a_fault(data: dict[str, Any], reported: bool) -> None:
    assert (unexplained([], run(**data)) is not None) is reported


def test_an_exception_outside_of_the_script_has_no_place() -> None:
    data = raised("RuntimeError", NO_GRAPH)
    data["exception"]["lines"] = [["/project/helper.py", 3]]
    assert unexplained([], run(**data)) is None


def test_adapters_without_gradients_are_a_fault_that_no_exception_shows() -> None:
    data = {"models": [model(1)], "forwards": [forward()], "backward": backward()}
    frozen = Fault(91, "The first backward pass gives no adapter a gradient: all of them are frozen")
    assert unexplained([], run(**data, gradients=FROZEN)) == frozen
    fault = unexplained([], run(**data, gradients=NONE))
    assert fault is not None
    assert fault.failure is None
    assert unexplained([], run(**data, gradients=ZERO)) is None, "the data may be to blame"
    finding = found("LL402")
    confirmed = {**data, "models": [model(line(finding), frozen_adapters=8, trainable=0)]}
    assert unexplained([finding], run(**confirmed, gradients=FROZEN)) is None


def test_adapters_outside_of_the_optimizer_are_a_fault() -> None:
    held = {"class": "AdamW", "made": 9, "adapters_held": 0, "trainable_missing": 8}
    data = {"models": [model(1)], "forwards": [forward()], "backward": backward(), "gradients": FINE}
    assert unexplained([], run(**data, optimizer=held)) == Fault(9, "No adapter is in the optimizer that steps: 8 trainable tensors are in none")
    assert unexplained([], run(**data, optimizer={**held, "adapters_held": 8})) is None
    finding = replace(found("LL501"), span=Span(Position(9, 1), Position(9, 20)))
    assert unexplained([finding], run(**data, optimizer=held)) is None


def test_ll301_is_confirmed_by_the_refusal_of_accelerate() -> None:
    """Its wrapper of .to() raises before the method that is watched."""
    finding = found("LL301")
    refused = raised("RuntimeError", "You can't move a model that has some modules offloaded to cpu or disk.", line(finding), "before the step")
    assert verdict(finding, **refused)[0] is CONFIRMED
    elsewhere = raised("RuntimeError", "You can't move a model that has some modules offloaded to cpu or disk.", 300, "before the step")
    assert verdict(finding, **elsewhere)[0] is not CONFIRMED
