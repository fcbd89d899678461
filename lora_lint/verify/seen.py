"""What the step saw, typed: ``seen.json`` as frozen data.

Whatever is missing in the report, or is not of the kind that it should be, was not observed: ``None``, or empty. Nothing here raises for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from lora_lint.verify.launch import Outcome

NO_GRAD_FN = "does not require grad and does not have a grad_fn"
EMPTY_OPTIMIZER = "optimizer got an empty parameter list"
_MIXED_DEVICES = (
    "Expected all tensors to be on the same device",
    "on the same device as the indexed tensor",
    "must be on the same device",
    "Input type (torch.cuda.",
    "weight type (torch.cuda.",
)
# What a machine without a GPU answers, whether or not the script is right.
_WITHOUT_GPU = (
    "No GPU found",
    "A GPU is needed",
    "CUDA is required but not available",
    "None of the available devices",
    "requires a GPU",
    "Torch not compiled with CUDA enabled",
    "Found no NVIDIA driver",
    "not linked with support for cuda",
    "can only be used on CUDA",
    "FlashAttention",
    "flash_attn",
    "support bf16/gpu",
    "No CUDA GPUs are available",
    "CUDA driver",
    "Cannot access accelerator device",
)


@dataclass(frozen=True)
class Failure:
    """The exception that ended the script: ``lines`` are the user's frames (file, line), outermost first, ``where`` the innermost library frames.

    ``ours``: it comes from what stands in for the real thing.
    """

    type: str = ""
    message: str = ""
    lines: tuple[tuple[str, int], ...] = ()
    where: tuple[str, ...] = ()
    stage: str = ""
    ours: bool = False

    @property
    def text(self) -> str:
        """Type and message as Python prints them, the message's first line, in a bounded length."""
        return headline(f"{self.type}: {headline(self.message)}".removesuffix(": "))

    def says(self, *texts: str) -> bool:
        """Whether the message contains one of the texts."""
        return any(text in self.message for text in texts)

    @property
    def no_graph(self) -> bool:
        """Whether the value that was backpropagated had no graph."""
        return self.type == "RuntimeError" and self.says(NO_GRAD_FN)

    @property
    def mixed_devices(self) -> bool:
        """Whether an operation got tensors of two devices."""
        return self.says(*_MIXED_DEVICES)

    @property
    def without_gpu(self) -> bool:
        """Whether a library refuses its work because there is no GPU."""
        return self.says(*_WITHOUT_GPU)


@dataclass(frozen=True)
class Replaced:
    """Something that the script loads, and what stood in for it."""

    what: str = ""
    id: str = ""
    by: str = ""
    line: int | None = None


@dataclass(frozen=True)
class Off:
    """Something that the script asked for and that was not done."""

    what: str = ""
    line: int | None = None


@dataclass(frozen=True)
class ModelSeen:
    """A model at its first forward in training, else at the end.

    ``lines`` are those on which it and its wrappers were made; ``parameters``, ``trainable`` and the adapters are counted in tensors, ``dtypes``
    is the number of the base's by type.
    """

    id: int = 0
    cls: str = ""
    line: int | None = None
    lines: tuple[int, ...] = ()
    wrapped: str | None = None
    quantized: int | None = None
    device_map: dict[str, str] | None = None
    devices: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()
    checkpointing: bool | None = None
    reentrant: bool | None = None
    input_grads: bool | None = None
    prepared_kbit: bool | None = None
    parameters: int | None = None
    trainable: int | None = None
    frozen_adapters: int | None = None
    adapter_tensors: int | None = None
    inference_mode: bool | None = None
    dtypes: dict[str, int] | None = None

    @property
    def places(self) -> frozenset[str]:
        """The devices that its device_map names."""
        return frozenset(_device(place) for place in (self.device_map or {}).values())

    @property
    def made(self) -> frozenset[int]:
        """All lines on which it was made."""
        return frozenset((*self.lines, *([self.line] if self.line is not None else [])))

    @property
    def frozen(self) -> bool:
        """Whether it has adapters and all of them were frozen (``frozen_adapters`` leaves out those that are not active)."""
        return bool(self.adapter_tensors) and (self.trainable == 0 or self.frozen_adapters == self.adapter_tensors)

    @property
    def half(self) -> int | None:
        """The number of the base's tensors in half precision; ``None`` where not observed."""
        if self.dtypes is None:
            return None
        return sum(self.dtypes.get(f"torch.{name}", 0) for name in ("float16", "bfloat16"))


@dataclass(frozen=True)
class Forward:
    """One call of a model as a whole; ``inputs`` are devices by name."""

    model: int | None = None
    line: int | None = None
    training: bool | None = None
    grad_enabled: bool | None = None
    inference_mode: bool | None = None
    inputs: dict[str, str] | None = None
    model_devices: tuple[str, ...] = ()
    checkpoint_calls: int | None = None
    checkpoint_reentrant: tuple[bool, ...] = ()
    output_requires_grad: bool | None = None
    in_generate: bool | None = None
    error: str | None = None

    @property
    def without_grad(self) -> bool:
        """Whether gradients were switched off."""
        return self.grad_enabled is False or self.inference_mode is True

    @property
    def reentrant(self) -> bool:
        """Whether reentrant checkpointing ran in it."""
        return bool(self.checkpoint_calls) and True in self.checkpoint_reentrant

    @property
    def on_gpu(self) -> bool:
        """Whether all of the model was on a GPU."""
        return bool(self.model_devices) and all(device.startswith("cuda") for device in self.model_devices)


@dataclass(frozen=True)
class Move:
    """A ``.to()``, ``.cuda()``, ``.half()`` … of a model."""

    model: int | None = None
    line: int | None = None
    method: str = ""
    to: str = ""
    dispatched: bool | None = None
    error: str | None = None


@dataclass(frozen=True)
class BackwardSeen:
    """The first backward pass."""

    line: int | None = None
    model: int | None = None
    loss_requires_grad: bool | None = None
    grad_fn: str | None = None
    finite: bool | None = None
    value: float | None = None
    dtype: str = ""
    leaf: bool | None = None
    error: str | None = None


@dataclass(frozen=True)
class Gradients:
    """What the trainable tensors of a model have got after the backward pass, counted in tensors."""

    model: int | None = None
    trainable: int = 0
    with_grad: int = 0
    none: tuple[str, ...] = ()
    none_count: int = 0
    zero: tuple[str, ...] = ()
    zero_count: int = 0
    not_called: int = 0
    adapters: int = 0
    adapters_with_grad: int = 0
    adapters_frozen: int = 0
    base_trainable: int = 0

    @property
    def learned(self) -> bool:
        """Whether all that trains and took part in the forward has a gradient, adapters among it where there are any."""
        return self.with_grad > 0 and self.none_count == 0 and (self.adapters == 0 or self.adapters_with_grad > 0)

    @property
    def starved(self) -> bool:
        """Whether nothing has a gradient; one that is zero everywhere counts as one here, since the loss may be to blame for it."""
        return self.with_grad == 0 and self.zero_count == 0

    @property
    def adapters_starved(self) -> bool:
        """Whether no adapter has a gradient, in the same sense."""
        return self.adapters > 0 and self.adapters_with_grad == 0 and self.zero_count == 0


@dataclass(frozen=True)
class OptimizerSeen:
    """The optimizer that stepped; ``made`` is the line that made it, ``missing`` what trains and is in no optimizer."""

    cls: str = ""
    line: int | None = None
    made: int | None = None
    model: int | None = None
    held: int | None = None
    trainable_missing: int | None = None
    missing: tuple[str, ...] = ()
    adapters_held: int | None = None
    frozen_held: int | None = None
    backward_calls: int | None = None


@dataclass(frozen=True)
class Update:
    """What the optimizer step changed, counted in tensors."""

    changed: int | None = None
    unchanged_with_grad: int | None = None
    base_changed: int | None = None


@dataclass(frozen=True)
class Gradcheck:
    """A directional derivative of a module of the user's by autograd and by finite differences; ``ok`` is ``None`` where it cannot be judged."""

    cls: str = ""
    file: str = ""
    line: int | None = None
    what: str = ""
    autograd: float | None = None
    numeric: float | None = None
    error: float | None = None
    ok: bool | None = None

    @property
    def of_input(self) -> bool:
        """Whether it is about an input, not about a parameter."""
        return self.what.startswith("input")


@dataclass(frozen=True)
class Save:
    """A ``save_pretrained`` and the number of tensors that it writes; ``line`` is ``None`` where it was only asked what it would write."""

    line: int | None = None
    method: str = ""
    tensors: int | None = None
    expected: int | None = None


@dataclass(frozen=True)
class Seen:
    """One run of the step. ``script`` is the script's absolute path, ``detail`` a line of the parent's on how the run ended."""

    script: str
    end: str = "no report"
    detail: str = ""
    exit_code: int | None = None
    versions: dict[str, str] | None = None
    device: str = ""
    exception: Failure | None = None
    replaced: tuple[Replaced, ...] = ()
    off: tuple[Off, ...] = ()
    models: tuple[ModelSeen, ...] = ()
    forwards: tuple[Forward, ...] = ()
    moves: tuple[Move, ...] = ()
    backward: BackwardSeen | None = None
    gradients: Gradients | None = None
    gradients_of_others: tuple[Gradients, ...] = ()
    optimizer: OptimizerSeen | None = None
    update: Update | None = None
    gradchecks: tuple[Gradcheck, ...] = ()
    saves: tuple[Save, ...] = ()
    warnings: tuple[str, ...] = ()
    running: tuple[tuple[str, int], ...] = ()
    time: dict[str, float] | None = None
    memory_mb: float | None = None

    @classmethod
    def from_json(cls, data: object, script: str | os.PathLike[str]) -> Seen:
        """Read a report, or what there is of one."""
        given: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        seen: Seen = _object(cls, {**given, "script": os.path.abspath(script)})
        return seen

    @classmethod
    def of(cls, outcome: Outcome, script: str | os.PathLike[str]) -> Seen:
        """What a run came to: the child's report, and the parent's word on how it ended."""
        ended = {} if outcome.end == "reported" else {"end": outcome.end}
        return cls.from_json({**(outcome.seen or {}), **ended, "detail": outcome.detail}, script)

    @property
    def gpus(self) -> int:
        """The number of GPUs, real or virtual; a real device that is not counted is one."""
        if not self.device.startswith(("cuda", "virtual cuda")):
            return 0
        inside = self.device.partition("(")[2].partition(")")[0]
        return int(inside) if self.device.startswith("virtual") and inside.isdecimal() else 1

    @property
    def done(self) -> bool:
        """Whether an optimizer step was made after a backward pass that went through."""
        return self.end == "step" and self.backward is not None and self.backward.error is None

    def model(self, number: int | None) -> ModelSeen | None:
        """The model of that number."""
        return next((model for model in self.models if model.id == number), None) if number is not None else None

    @property
    def judged(self) -> ModelSeen | None:
        """The model whose training was judged: that of the gradients, of the loss, or of the optimizer; else the only one there is."""
        parts = (self.gradients, self.backward, self.optimizer)
        found = (self.model(part.model) for part in parts if part is not None)
        return next((model for model in found if model is not None), self.models[0] if len(self.models) == 1 else None)

    def gradients_for(self, model: ModelSeen | None) -> Gradients | None:
        """The gradients of a model."""
        if model is None:
            return None
        known = [*([self.gradients] if self.gradients is not None else []), *self.gradients_of_others]
        return next((gradients for gradients in known if gradients.model == model.id), None)

    def forward_of(self, model: ModelSeen | None) -> Forward | None:
        """The forward that the first loss came from: the last known one of the model outside of generation, in training where there is one."""
        mine = [forward for forward in self.forwards if model is not None and forward.model == model.id and not forward.in_generate]
        return next(reversed([f for f in mine if f.training] or mine), None)

    @property
    def failing_line(self) -> int | None:
        """The script's own innermost line in the exception's traceback."""
        if self.exception is None:
            return None
        return next((line for file, line in reversed(self.exception.lines) if self.is_script(file)), None)

    def is_script(self, file: str) -> bool:
        """Whether a file is the script."""
        return os.path.abspath(file) == self.script


def headline(text: str, width: int = 160) -> str:
    """The first line that says something, shortened."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def _device(place: str) -> str:
    return f"cuda:{place}" if place.isdecimal() else "cuda:0" if place == "cuda" else place


_NAMES = {"cls": "class"}
_BAD = object()


def _object(cls: Any, data: Mapping[str, Any]) -> Any:
    """An instance of a dataclass of this module from a JSON object; a field that is not as it should be keeps its default."""
    made: dict[str, Any] = {}
    for name, (kind, required) in _fields(cls).items():
        value = _value(kind, data.get(_NAMES.get(name, name), _BAD))
        if value is not _BAD:
            made[name] = value
        elif required:
            raise ValueError(name)
    return cls(**made)


@cache
def _fields(cls: Any) -> dict[str, tuple[Any, bool]]:
    hints = get_type_hints(cls)
    return {field.name: (hints[field.name], field.default is MISSING) for field in fields(cls)}


def _value(kind: Any, value: Any) -> Any:
    """A JSON value as a type of a field asks for it; ``_BAD`` where it is something else."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None:
            return None
        return _value(next(argument for argument in arguments if argument is not type(None)), value)
    if origin is tuple:
        return _tuple(arguments, value)
    if origin is dict:
        if not isinstance(value, Mapping):
            return _BAD
        read = {str(name): _value(arguments[1], part) for name, part in value.items()}
        return {name: part for name, part in read.items() if part is not _BAD}
    if kind is float:
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else _BAD
    if kind is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else _BAD
    if kind in (str, bool):
        return value if isinstance(value, kind) else _BAD
    return _object(kind, value) if isinstance(value, Mapping) else _BAD


def _tuple(arguments: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return _BAD
    if arguments[-1] is Ellipsis:
        return tuple(part for part in (_value(arguments[0], item) for item in value) if part is not _BAD)
    if len(value) != len(arguments):
        return _BAD
    parts = tuple(map(_value, arguments, value))
    return _BAD if any(part is _BAD for part in parts) else parts
