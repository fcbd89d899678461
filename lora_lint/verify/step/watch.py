"""Looks on while the script trains: models, forwards, the first backward, gradients, the optimizer step. Then stops it.

What is observed stays as it is: no flags, devices or types change, results keep their identity, and nothing is kept alive. The one exception is
on purpose: tensors of adapters that begin as zeros get small random values before the first forward in training, since with B = 0 the gradient
of A is exactly zero whether or not the script is right.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .gradcheck import Checks
from .graph import Forward, reach
from .models import Model, Models, adapters_of, defined_in, device_of, owners, tensors_in
from .moves import Moves
from .patches import Patches
from .protocol import Record, text_of
from .saves import Saves
from .warned import Warned

_FORWARDS = 20  # reported ones
_NAMES = 5
_STEPS = 3  # optimizer steps without a backward, or of other optimizers, that are waited for
_STEPS_TO_SAVE = 100  # for the save behind a loop over the few rows that there are
_RAISES = 3
_SNAPSHOT = 1 << 28  # elements that are copied to see what a step changes
_NONE, _ZERO, _FINE = 0, 1, 2


class Stop(BaseException):
    """All that was to be seen was seen. Not an ``Exception``, so that scripts let it through."""


class Watch:
    """Observation of one run, from ``install`` to ``finish``."""

    def __init__(self, record: Record, until: str = "step", gradcheck: bool = True, leave: Callable[[int], None] = os._exit) -> None:
        self._record, self._until, self._leave = record, until, leave
        self._gradcheck = gradcheck
        self.models = Models(record.places)
        self.checks = Checks(record.places)
        self._patches = Patches()
        self._saves = Saves(record, self._busy, self._saved)
        self._warned = Warned(record)
        self._handles: list[Any] = []
        self._local = threading.local()
        self._paused = 0
        self._in_backward = False
        self._generating = 0
        self._stopping = False
        self._raised = 0
        self._stop_after_backward = False
        self._count = 0
        self._forwards: deque[Forward] = deque(maxlen=64)
        self._reached: set[int] = set()  # numbers of the models that a backward went to
        self._backward: dict[str, Any] | None = None
        self._backward_by = ""
        self._attempts = self._backwards = self._steps = 0
        self._optimizers: list[tuple[Any, int | None]] = []  # weak references, with the line where each was made
        self._counted = False  # whether the step that was waited for was made
        self._before_step: dict[str, Any] = {}
        self._finished = False

    def install(self) -> None:
        """Begin to look on. The libraries must be imported."""
        import torch
        import torch.utils.checkpoint
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        patches = self._patches
        module = torch.nn.Module
        patches.wrap(module, "__init__", self._around_init)
        patches.set(module, "__call__", self._around_call(module.__call__))
        patches.wrap(torch.Tensor, "backward", lambda original: self._around_backward(original, "backward"))
        patches.wrap(torch.autograd, "backward", lambda original: self._around_backward(original, "backward"))
        patches.wrap(torch.autograd, "grad", lambda original: self._around_backward(original, "grad"))
        apply = vars(torch.autograd.Function)["apply"].__func__
        patches.set(torch.autograd.Function, "apply", classmethod(self._around_apply(apply)))
        patches.wrap(torch.utils.checkpoint, "_checkpoint_without_reentrant_generator", self._around_checkpoint)
        patches.wrap(torch.optim.Optimizer, "__init__", self._around_optimizer_init)
        self._handles.append(register_optimizer_step_pre_hook(self._before_optimizer))
        self._handles.append(register_optimizer_step_post_hook(self._after_optimizer))
        self._install_on_libraries()
        Moves(self._record, self.models, self._busy).install(patches)
        self._saves.install(patches)
        self._warned.install(patches)

    def _install_on_libraries(self) -> None:
        generation = sys.modules.get("transformers.generation.utils")
        if generation is not None:
            self._patches.wrap(generation.GenerationMixin, "generate", self._around_generate)
        peft = sys.modules.get("peft")
        original = getattr(peft, "prepare_model_for_kbit_training", None)
        if original is not None:
            for name in ("peft", "peft.utils", "peft.utils.other"):
                owner = sys.modules.get(name)
                if getattr(owner, "prepare_model_for_kbit_training", None) is original:
                    self._patches.wrap(owner, "prepare_model_for_kbit_training", self._around_prepare)

    def uninstall(self) -> None:
        """Look on no more, and leave no trace in the libraries."""
        self._patches.undo()
        self._warned.uninstall()
        while self._handles:
            self._handles.pop().remove()

    def _busy(self) -> bool:
        return bool(self._paused)

    @contextlib.contextmanager
    def _looking(self) -> Iterator[None]:
        """For our own work: nothing of it is observed, gets a gradient, or comes out as an exception."""
        import torch

        self._paused += 1
        try:
            with torch.no_grad():
                yield
        except Exception as error:
            self._record.add("unseen", f"{type(error).__name__}: {text_of(error)[:200]}", 5)
        finally:
            self._paused -= 1

    # Modules

    def _around_init(self, original: Any) -> Callable[..., None]:
        def init(module: Any, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            if not self._paused:
                self.models.made(module)

        return init

    def _around_call(self, original: Any) -> Callable[..., Any]:
        local = self._local

        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if self._stopping:
                self._stop_again()
            if self._paused or self._counted:
                return original(module, *args, **kwargs)
            forward: Forward | None = getattr(local, "forward", None)
            if forward is None and not self._in_backward:
                return self._root(original, module, args, kwargs)
            if forward is not None:
                forward.called.add(id(module))
            self._look_closer(module, args, kwargs)
            return original(module, *args, **kwargs)

        return __call__

    def _root(self, original: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call of a whole model, or of anything else that is called first."""
        if next(module.parameters(), None) is None:
            return original(module, *args, **kwargs)
        import torch

        forward: Forward | None = None

        enabled, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        with self._looking():
            forward = self._begin(module, args, kwargs, enabled, inference)
        self._look_closer(module, args, kwargs)
        if forward is None:
            return original(module, *args, **kwargs)
        self._local.forward = forward
        try:
            output = original(module, *args, **kwargs)
        except Exception as error:
            forward.entry["error"] = f"{type(error).__name__}: {text_of(error)[:300]}"
            raise
        finally:
            self._local.forward = None
            forward.called.add(id(module))
            forward.model.called |= forward.called
            forward.entry["checkpoint_calls"] = forward.checkpoints
            forward.entry["checkpoint_reentrant"] = forward.reentrant
        with self._looking():
            forward.ended(output)
        return output

    def _begin(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], enabled: bool, inference: bool) -> Forward:
        model = self.models.of(module)
        training = bool(module.training) and not self._generating
        if (training or (enabled and not self._generating)) and not model.randomised:
            model.randomised = True
            self._randomise(model.module)
        if (training and not model.trained) or "line" not in model.state:
            self.models.describe(model)
            model.trained = training
        self._count += 1
        entry = {
            "model": model.number,
            "line": self._record.line(),
            "training": bool(module.training),
            "grad_enabled": enabled,
            "inference_mode": inference,
            "inputs": _devices_of_inputs(module, args, kwargs),
            "model_devices": sorted({device_of(parameter) for parameter in model.module.parameters()}),
            "checkpoint_calls": 0,
            "checkpoint_reentrant": [],
            "output_requires_grad": None,
            "in_generate": bool(self._generating),
        }
        forward = Forward(self._count, model, entry)
        if self._count <= _FORWARDS:
            self._record.data.setdefault("forwards", []).append(entry)
        if not self._generating:
            self._forwards.append(forward)
        if self._count <= 3:
            self._report_models()
            self._record.write()
        return forward

    def _randomise(self, module: Any) -> None:
        """Give the zero-initialised parts of adapters, and matrices of trainable zeros, small random values."""
        import torch

        adapters = adapters_of(module)
        generator = torch.Generator().manual_seed(0)
        count = 0
        for parameter in module.parameters():
            wanted = id(parameter) in adapters or (parameter.requires_grad and parameter.dim() > 1)
            if not wanted or not parameter.is_floating_point() or parameter.device.type == "meta" or parameter.is_inference():
                continue
            if parameter.numel() and not bool(parameter.any()):
                noise = torch.randn(parameter.shape, generator=generator) * 0.02
                parameter.copy_(noise.to(parameter.device, parameter.dtype))
                count += 1
        if count:
            self._record.data["randomised"] = self._record.data.get("randomised", 0) + count

    def _look_closer(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep the inputs of a module of the user's for the check of its gradient."""
        import torch

        if self._gradcheck and self.models.interesting(type(module)) and torch.is_grad_enabled() and self.models.users(type(module)):
            with self._looking():
                self.checks.look(module, args, kwargs)

    def _around_apply(self, original: Any) -> Callable[..., Any]:
        theirs: dict[type, bool] = {}

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._paused:
                if "heckpoint" in cls.__name__:
                    self._checkpointed(True)
                elif self._gradcheck and theirs.setdefault(cls, defined_in(cls, self._record.places)):
                    with self._looking():
                        self.checks.look_at_function(cls, args, kwargs)
            return original(cls, *args, **kwargs)

        return apply

    def _around_checkpoint(self, original: Any) -> Callable[..., Any]:
        def checkpoint(*args: Any, **kwargs: Any) -> Any:
            self._checkpointed(False)
            return original(*args, **kwargs)

        return checkpoint

    def _checkpointed(self, reentrant: bool) -> None:
        forward: Forward | None = getattr(self._local, "forward", None)
        if forward is not None and not self._paused and not self._in_backward:
            forward.checkpoints += 1
            if reentrant not in forward.reentrant:
                forward.reentrant.append(reentrant)

    def _around_generate(self, original: Any) -> Callable[..., Any]:
        def generate(*args: Any, **kwargs: Any) -> Any:
            self._generating += 1
            try:
                return original(*args, **kwargs)
            finally:
                self._generating -= 1

        return generate

    def _around_prepare(self, original: Any) -> Callable[..., Any]:
        def prepare(model: Any, *args: Any, **kwargs: Any) -> Any:
            self.models.prepared(model)
            return original(model, *args, **kwargs)

        return prepare

    # Backward

    def _around_backward(self, original: Any, method: str) -> Callable[..., Any]:
        def backward(*args: Any, **kwargs: Any) -> Any:
            if self._stopping:
                self._stop_again()
            if self._paused or self._in_backward or self._counted:  # checkpointing calls it again, and so does Tensor.backward
                return original(*args, **kwargs)
            entry: dict[str, Any] | None = None
            with self._looking():
                losses = list(tensors_in(args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))))
                entry = self._before_backward(losses, method)
            self._in_backward = True
            try:
                result = original(*args, **kwargs)
            except Exception as error:
                if entry is not None:
                    entry["error"] = f"{type(error).__name__}: {text_of(error)}"
                    self._record.write()
                raise
            finally:
                self._in_backward = False
            if method == "backward":
                self._backwards += 1
                with self._looking():
                    self._judge_gradients()
                    self._report_gradients()
                    self._record.write()
            if self._stop_after_backward:
                self._stop()
            return result

        return backward

    def _before_backward(self, losses: list[Any], method: str) -> dict[str, Any] | None:
        if not losses:
            return None
        self._attempts += method == "backward"
        loss = losses[0]
        numbers, leaves = reach(losses)
        fed = [forward for forward in self._forwards if forward.number in numbers]
        if not fed:
            fed = self._cut_from(loss)
        models = {forward.model.number: forward.model for forward in fed}
        for model in self.models.all:
            module = model.module
            if module is not None and leaves and any(id(parameter) in leaves for parameter in module.parameters()):
                models[model.number] = model
        self._reached |= set(models)
        chosen = max(models.values(), key=self._weight, default=None)
        single = loss.numel() == 1
        entry = {
            "line": self._record.line(),
            "model": chosen.number if chosen is not None else None,
            "loss_requires_grad": bool(loss.requires_grad),
            "grad_fn": type(loss.grad_fn).__name__ if loss.grad_fn is not None else None,
            "finite": bool(loss.detach().isfinite().all()),
            "value": float(loss.detach()) if single else None,
            "dtype": str(loss.dtype),
            "leaf": bool(loss.is_leaf),
            "error": None,
        }
        if not self._replaces(chosen, method):
            return None
        self._backward, self._backward_by = entry, method
        self._record.data["backward"] = entry
        last = next((forward for forward in reversed(fed) if forward.model is chosen), None)
        if last is not None and last.number > _FORWARDS:
            self._record.data["forwards"] = [*self._record.data["forwards"][:_FORWARDS], last.entry]
        self._report_models()
        self._record.write()
        return entry

    def _cut_from(self, loss: Any) -> list[Forward]:
        """The forwards that a loss without a graph came from: by identity or value, else the last one in training."""
        recent = list(reversed(self._forwards))
        for test in (lambda forward: forward.made(loss), lambda forward: forward.training, lambda forward: True):
            found = [forward for forward in recent if test(forward)]
            if found:
                return found[:1]
        return []

    def _replaces(self, model: Model | None, method: str) -> bool:
        """Whether a backward says more than the one that is reported: the first one of ``backward``, and the first to adapters that train."""
        if self._backward is None:
            return True
        if method == "grad":
            return False
        if self._backward_by == "grad":
            return True
        reported = next((other for other in self.models.all if self._backward and other.number == self._backward["model"]), None)
        return model is not None and _adapters_that_train(model) and (reported is None or not _adapters_that_train(reported))

    def _weight(self, model: Model) -> tuple[bool, int, int]:
        module = model.module
        trainable = sum(parameter.requires_grad for parameter in module.parameters()) if module is not None else 0
        return _adapters_that_train(model), trainable, model.number

    def _judge_gradients(self, only: set[int] | None = None) -> None:
        """Note the best that each trainable tensor of each called model has got so far; ``only`` some of them, by identity."""
        for model in self.models.all:
            module = model.module
            if module is None or not model.called:
                continue
            for name, parameter in module.named_parameters():
                if parameter.requires_grad and (only is None or id(parameter) in only):
                    model.grads[name] = max(model.grads.get(name, _NONE), _state_of(parameter.grad))

    def _judged(self) -> Model | None:
        """The model whose training is judged: one with adapters to train that the loss or an optimizer is about, else what the loss is about."""
        held = self._held()

        def rank(model: Model) -> tuple[bool, bool, int]:
            reached = model.number in self._reached
            return _adapters_that_train(model) and (reached or _holds(model, held)), reached, model.number

        alive = [model for model in self.models.all if model.module is not None and model.called]
        best = max(alive, key=rank, default=None)
        return best if best is not None and any(rank(best)[:2]) else None

    def _held(self) -> set[int]:
        """The identities of all parameters in optimizers that are alive."""
        found = set()
        for reference, _ in self._optimizers:
            optimizer = reference()
            if optimizer is not None:
                found |= _parameters_in(optimizer)
        return found

    def _report_gradients(self) -> None:
        judged = self._judged()
        if judged is None:
            return
        self._record.data["gradients"] = _gradients(judged)
        others = [_gradients(model) for model in self.models.all if model is not judged and model.grads and model.module is not None]
        if others:
            self._record.data["gradients_of_others"] = others

    # Optimizer

    def _around_optimizer_init(self, original: Any) -> Callable[..., None]:
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._optimizers.append((weakref.ref(optimizer), self._record.line()))

        return init

    def _before_optimizer(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._stopping:
            self._stop_again()
        if self._paused:
            return
        with self._looking():
            held = _parameters_in(optimizer)
            self._before_step = {"held": held}
            if self._in_backward:
                self._judge_gradients(held)
            if self._counted:
                return
            model = self._judged() or self.models.owner_of(held)
            if model is None or model.module is None:
                return
            if "line" not in model.state:
                self.models.describe(model)
            self._before_step["model"] = model
            self._record.data["optimizer"] = self._optimizer(optimizer, held, model)
            parameters = [parameter for parameter in model.module.parameters() if parameter.is_floating_point()]
            if sum(parameter.numel() for parameter in parameters) <= _SNAPSHOT:
                self._before_step["values"] = {id(parameter): parameter.detach().clone() for parameter in parameters}
            self._record.write()

    def _optimizer(self, optimizer: Any, held: set[int], model: Model) -> dict[str, Any]:
        named = list(model.module.named_parameters())
        adapters = adapters_of(model.module)
        everywhere = held | self._held()
        missing = [name for name, parameter in named if parameter.requires_grad and id(parameter) not in everywhere]
        groups = optimizer.param_groups
        return {
            "class": type(optimizer).__name__,
            "line": self._record.line(),
            "made": next((line for reference, line in self._optimizers if reference() is optimizer), None),
            "model": model.number,
            "held": len(held),
            "trainable_missing": len(missing),
            "missing": missing[:_NAMES],
            "adapters_held": sum(id(parameter) in held for _, parameter in named if id(parameter) in adapters),
            "frozen_held": sum(not parameter.requires_grad for group in groups for parameter in group["params"]),
            "backward_calls": self._backwards,
            "lr": float(groups[0]["lr"]) if groups and "lr" in groups[0] else None,
        }

    def _after_optimizer(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._paused:
            return
        self._steps += 1
        before, self._before_step = self._before_step, {}
        enough = False
        with self._looking():
            if "model" in before:  # again, since the backward may have happened within the step
                model = self._judged() or before["model"]
                self._record.data["optimizer"] = self._optimizer(optimizer, before["held"], model)
                if "values" in before:
                    self._record.data["update"] = _update(model, before["held"], before["values"])
            enough = self._enough(before)
            self._record.write()
        if enough and self._in_backward:
            self._stop_after_backward = True
        elif enough:
            self._stop()

    def _enough(self, before: dict[str, Any]) -> bool:
        """Whether this step is the one that was waited for: the first, or the first of adapters where an optimizer has any."""
        if not self._counted and (self._attempts or self._backward is not None):
            wanted = self._held() & self.models.trainable_adapters()
            self._counted = not wanted or bool(wanted & before.get("held", set()))
        if self._until != "save" or not self._counted:
            return self._counted or self._steps >= _STEPS
        if self._steps < _STEPS_TO_SAVE:
            return False
        model = self._judged()
        if model is not None:
            self._saves.ask(model.module)
        return True

    def _saved(self) -> None:
        if self._until == "save" and self._steps and not self._paused:
            self._stop()

    # The end

    def _stop(self) -> None:
        """Check the gradients of the user's modules, write everything, and end the script."""
        self.finish("step" if self._attempts or self._backward is not None else "finished")
        self._stopping = True
        self._stop_again()

    def _stop_again(self) -> None:
        if self._paused:
            return
        self._raised += 1
        if self._raised > _RAISES:
            self._record.write()
            self._leave(0)
        raise Stop

    @property
    def stopped(self) -> bool:
        """Whether the script was ended from here; what it did afterwards does not count."""
        return self._stopping

    def finish(self, end: str | None = None) -> None:
        """Complete the record. To be called while what the script made is still alive; again is harmless."""
        if self._finished:
            return
        self._finished = True
        if end is not None:
            self._record.data["end"] = end
            self._record.write()
        with self._looking():
            self.models.others()
            for model in self.models.all:
                if "line" not in model.state:
                    self.models.describe(model)
            self._report_models()
        if self._gradcheck:
            with self._looking():
                self._record.data["gradchecks"] = self.checks.run()
        self._record.write()

    def _report_models(self) -> None:
        self._record.data["models"] = [model.state for model in self.models.all if "line" in model.state]


def _devices_of_inputs(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, str]:
    """The device of each tensor that a module is called with, by the name of its parameter."""
    names: list[str] = []
    if args:
        with contextlib.suppress(TypeError, ValueError):
            kinds = inspect.signature(module.forward).parameters.values()
            names = [parameter.name for parameter in kinds if parameter.kind is not inspect.Parameter.VAR_POSITIONAL]
    found = {}
    given = [(names[index] if index < len(names) else str(index), value) for index, value in enumerate(args)]
    for name, value in [*given, *kwargs.items()]:
        if hasattr(value, "items"):
            for key, part in value.items():
                for tensor in tensors_in(part, 1):
                    found[f"{name}.{key}"] = device_of(tensor)
        else:
            for tensor in tensors_in(value, 1):
                found[name] = device_of(tensor)
    return found


def _trainable(model: Model) -> set[int]:
    module = model.module
    return {id(parameter) for parameter in module.parameters() if parameter.requires_grad} if module is not None else set()


def _holds(model: Model, held: set[int]) -> bool:
    return bool(_trainable(model) & held)


def _adapters_that_train(model: Model) -> bool:
    module = model.module
    if module is None:
        return False
    trainable = _trainable(model)
    return any(active and identity in trainable for identity, active in adapters_of(module).items())


def _parameters_in(optimizer: Any) -> set[int]:
    return {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}


def _state_of(gradient: Any) -> int:
    if gradient is None:
        return _NONE
    values = gradient.coalesce().values() if gradient.is_sparse else gradient
    return _FINE if bool((values != 0).any()) else _ZERO


def _gradients(model: Model) -> dict[str, Any]:
    module = model.module
    named = dict(module.named_parameters())
    adapters = adapters_of(module)
    used = owners(module)
    trainable = {name: parameter for name, parameter in named.items() if parameter.requires_grad}
    states = {name: model.grads.get(name, _NONE) for name in trainable}
    called = {name for name, parameter in trainable.items() if used.get(id(parameter), set()) & model.called}
    none = [name for name, state in states.items() if state == _NONE and name in called]
    zero = [name for name, state in states.items() if state == _ZERO]
    theirs = [name for name, parameter in named.items() if adapters.get(id(parameter), False)]
    return {
        "model": model.number,
        "trainable": len(trainable),
        "with_grad": sum(state == _FINE for state in states.values()),
        "none": none[:_NAMES],
        "none_count": len(none),
        "zero": zero[:_NAMES],
        "zero_count": len(zero),
        "not_called": sum(name not in called and state == _NONE for name, state in states.items()),
        "adapters": len(theirs),
        "adapters_with_grad": sum(states.get(name) == _FINE for name in theirs),
        "adapters_frozen": sum(name not in trainable for name in theirs),
        "base_trainable": sum(id(parameter) not in adapters for parameter in trainable.values()),
    }


def _update(model: Model, held: set[int], before: dict[int, Any]) -> dict[str, Any]:
    import torch

    adapters = adapters_of(model.module)
    changed = unchanged = base = 0
    for name, parameter in model.module.named_parameters():
        value = before.get(id(parameter))
        if value is None:
            continue
        moved = parameter.shape != value.shape or not torch.equal(parameter.detach(), value)
        changed += moved and parameter.requires_grad
        base += moved and bool(adapters) and id(parameter) not in adapters
        unchanged += not moved and id(parameter) in held and model.grads.get(name) == _FINE
    return {"changed": changed, "unchanged_with_grad": unchanged, "base_changed": base}
