"""Reports are read as far as they are what they should be; what is missing was not observed."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from lora_lint.verify import seen as module
from lora_lint.verify.launch import Outcome
from lora_lint.verify.seen import Failure, Forward, Gradients, ModelSeen, OptimizerSeen, Seen, headline

STEP = Path(module.__file__).with_name("step")
SCRIPT = "/project/train.py"


def read(**data: Any) -> Seen:
    return Seen.from_json(data, SCRIPT)


def test_a_whole_report_is_read() -> None:
    seen = read(
        format=1,
        versions={"python": "3.11.7", "torch": "2.13.0"},
        device="virtual cuda (2)",
        end="step",
        replaced=[{"what": "model", "id": "org/model", "by": "random llama", "line": 12}],
        models=[{"id": 1, "class": "LlamaForCausalLM", "line": 12, "lines": [12, 14], "device_map": {"": "0"}, "reentrant": None, "trainable": 8}],
        forwards=[{"model": 1, "line": 40, "training": True, "inputs": {"input_ids": "cpu"}, "checkpoint_reentrant": [True]}],
        moves=[{"model": 1, "line": 13, "method": "cuda", "to": "cuda:0", "dispatched": True, "error": None}],
        backward={"line": 41, "model": 1, "leaf": False, "value": 4, "error": None},
        gradients={"model": 1, "trainable": 8, "with_grad": 8, "none": [], "adapters": 8, "adapters_with_grad": 8},
        optimizer={"class": "AdamW", "held": 8, "made": 39},
        gradchecks=[{"class": "LoRALinear", "file": SCRIPT, "line": 14, "what": "input 0", "error": 0.98, "ok": False}],
        saves=[{"line": 60, "method": "save_pretrained", "tensors": 0, "expected": 8}],
        running=[[SCRIPT, 7]],
    )
    assert (seen.gpus, seen.done, seen.script) == (2, True, SCRIPT)
    assert seen.versions == {"python": "3.11.7", "torch": "2.13.0"}
    model = seen.model(1)
    assert model is not None
    assert (model.cls, model.made, model.places) == ("LlamaForCausalLM", {12, 14}, {"cuda:0"})
    assert seen.judged is model
    assert seen.forwards[0].inputs == {"input_ids": "cpu"}
    assert seen.forwards[0].checkpoint_reentrant == (True,)
    assert seen.backward is not None
    assert seen.backward.value == 4.0
    assert seen.optimizer == OptimizerSeen("AdamW", held=8, made=39)
    assert seen.gradchecks[0].of_input
    assert seen.running == ((SCRIPT, 7),)


@pytest.mark.parametrize("data", [None, [], "text", 3, {}, {"end": 3, "models": {"id": 1}, "backward": [], "device": None, "versions": [1]}])
def test_what_is_no_report_says_that_nothing_was_seen(data: Any) -> None:
    assert Seen.from_json(data, SCRIPT) == Seen(SCRIPT)


def test_a_part_of_the_wrong_kind_is_left_out_and_its_neighbours_stay() -> None:
    seen = read(
        models=[{"id": 1, "line": "12", "lines": [12, "13", True, None], "trainable": 2.5, "device_map": {"a": 0, "b": "cpu"}}, 7, None, {"id": 2}],
        exception={"type": "ValueError", "message": None, "lines": [[SCRIPT, 3], [SCRIPT], "x", [SCRIPT, "4"]]},
        backward={"line": True, "finite": 1, "value": "nan"},
    )
    first, second = seen.models
    assert (first.line, first.lines, first.trainable, first.device_map, second.id) == (None, (12,), None, {"b": "cpu"}, 2)
    assert seen.exception == Failure("ValueError", lines=((SCRIPT, 3),))
    assert seen.backward is not None
    assert (seen.backward.line, seen.backward.finite, seen.backward.value) == (None, None, None)


def test_the_parent_has_the_last_word_on_how_a_run_ended() -> None:
    report = {"end": "step", "device": "cpu"}
    reported = Seen.of(Outcome(report, "reported", "one optimizer step was done", "", 1.0), SCRIPT)
    assert (reported.end, reported.detail) == ("step", "one optimizer step was done")
    late = Seen.of(Outcome(report, "timeout", "not within 60 s", "", 60.0), SCRIPT)
    assert (late.end, late.device) == ("timeout", "cpu")
    assert Seen.of(Outcome(None, "no report", "status 3", "", 1.0), SCRIPT).end == "no report"


@pytest.mark.parametrize(
    ("device", "gpus"), [("", 0), ("cpu", 0), ("cuda (NVIDIA H200)", 1), ("virtual cuda (1)", 1), ("virtual cuda (4)", 4), ("virtual cuda", 1)]
)
def test_gpus_are_counted_by_the_name_of_the_device(device: str, gpus: int) -> None:
    assert read(device=device).gpus == gpus


def test_a_failing_line_is_the_innermost_of_the_script() -> None:
    lines = [[SCRIPT, 3], [SCRIPT, 9], ["/project/helper.py", 77]]
    assert read(exception={"type": "E", "lines": lines}).failing_line == 9
    assert read(exception={"type": "E", "lines": [["/project/helper.py", 77]]}).failing_line is None
    assert read().failing_line is None


@pytest.mark.parametrize(
    ("message", "attribute"),
    [
        ("element 0 of tensors does not require grad and does not have a grad_fn", "no_graph"),
        ("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!", "mixed_devices"),
        ("indices should be either on cpu or on the same device as the indexed tensor (cpu)", "mixed_devices"),
        ("Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same", "mixed_devices"),
        ("No GPU found. A GPU is needed for quantization.", "without_gpu"),
        ("Cannot access accelerator device when none is available.", "without_gpu"),
    ],
)
def test_errors_are_told_by_their_text(message: str, attribute: str) -> None:
    kinds = {name: getattr(Failure("RuntimeError", message), name) for name in ("no_graph", "mixed_devices", "without_gpu")}
    assert [name for name, is_so in kinds.items() if is_so] == [attribute]
    assert not getattr(Failure("RuntimeError", "Input type (float) and bias type (c10::BFloat16) should be the same"), attribute)


def test_the_text_of_an_error_is_one_short_line() -> None:
    assert Failure("ValueError", "\n  first\nsecond").text == "ValueError: first"
    assert Failure("KeyError", "'text'").text == "KeyError: 'text'"
    assert Failure("EOFError", "").text == "EOFError"
    assert headline("x" * 500) == "x" * 159 + "…"
    assert headline("\n\n") == ""


def test_the_judged_model_is_that_of_the_gradients_and_else_the_only_one() -> None:
    both = [{"id": 1}, {"id": 2}]
    assert read(models=both).judged is None
    assert read(models=both[:1]).judged == ModelSeen(1)
    assert read(models=both, backward={"model": 1}, gradients={"model": 2}).judged == ModelSeen(2)
    assert read(models=both, backward={"model": 1}).judged == ModelSeen(1)
    assert read(models=both, gradients={"model": 9}, optimizer={"model": 2}).judged == ModelSeen(2)


def test_gradients_of_another_model_are_found_by_its_number() -> None:
    seen = read(models=[{"id": 1}, {"id": 2}], gradients={"model": 1}, gradients_of_others=[{"model": 2, "trainable": 4}])
    assert seen.gradients_for(seen.model(2)) == Gradients(2, trainable=4)
    assert seen.gradients_for(ModelSeen(3)) is None
    assert seen.gradients_for(None) is None


def test_the_forward_of_a_model_is_the_last_one_in_training_outside_of_generation() -> None:
    forwards = [
        {"model": 1, "line": 1, "training": True},
        {"model": 1, "line": 2, "training": False},
        {"model": 1, "line": 3, "training": True, "in_generate": True},
        {"model": 2, "line": 4, "training": False},
    ]
    seen = read(models=[{"id": 1}, {"id": 2}], forwards=forwards)
    lines = [forward.line if (forward := seen.forward_of(seen.model(number))) is not None else None for number in (1, 2, 3)]
    assert lines == [1, 4, None]


def test_adapters_are_frozen_when_all_are_or_when_nothing_trains() -> None:
    assert ModelSeen(adapter_tensors=8, frozen_adapters=8).frozen
    assert ModelSeen(adapter_tensors=16, frozen_adapters=8, trainable=0).frozen
    assert not ModelSeen(adapter_tensors=16, frozen_adapters=8, trainable=8).frozen
    assert not ModelSeen(adapter_tensors=0, frozen_adapters=0, trainable=0).frozen
    assert not ModelSeen().frozen


def test_half_precision_is_counted_only_where_types_were_observed() -> None:
    assert ModelSeen().half is None
    assert ModelSeen(dtypes={"torch.float32": 3, "torch.bfloat16": 2, "torch.float16": 1}).half == 3


@pytest.mark.parametrize(
    ("gradients", "learned", "starved"),
    [
        (Gradients(trainable=8, with_grad=8, adapters=8, adapters_with_grad=8), True, False),
        (Gradients(trainable=9, with_grad=1, adapters=8), False, False),
        (Gradients(trainable=8, with_grad=6, none_count=2, adapters=8, adapters_with_grad=6), False, False),
        (Gradients(trainable=8, none_count=8, adapters=8), False, True),
        (Gradients(trainable=8, zero_count=8, adapters=8), False, False),
        (Gradients(trainable=4, with_grad=4), True, False),
    ],
)
def test_learning_asks_for_a_gradient_of_all_that_took_part(gradients: Gradients, learned: bool, starved: bool) -> None:
    assert (gradients.learned, gradients.starved) == (learned, starved)


def test_a_forward_says_whether_gradients_were_off_and_where_it_ran() -> None:
    assert Forward(grad_enabled=False).without_grad
    assert Forward(grad_enabled=True, inference_mode=True).without_grad
    assert not Forward().without_grad
    assert Forward(checkpoint_calls=2, checkpoint_reentrant=(True,)).reentrant
    assert not Forward(checkpoint_calls=2, checkpoint_reentrant=(False,)).reentrant
    assert Forward(model_devices=("cuda:0", "cuda:1")).on_gpu
    assert not Forward(model_devices=("cuda:0", "cpu")).on_gpu
    assert not Forward().on_gpu


def test_the_names_are_those_that_the_step_writes() -> None:
    written = "\n".join(path.read_text(encoding="utf-8") for path in sorted(STEP.rglob("*.py")))
    later = {"script", "detail", "dtypes"}
    for kind in (Seen, *(value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__)):
        for field in fields(kind):
            name = {"cls": "class"}.get(field.name, field.name)
            assert name in later or re.search(rf"""["']{name}["']""", written), f"{kind.__name__}.{name}"
