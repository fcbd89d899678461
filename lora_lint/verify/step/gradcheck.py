"""Whether the backward of a user's own module or ``autograd.Function`` is the derivative of its forward.

Directional derivatives in float64, no formula needed. For y = W x + s B A x the gradient at the input is W^T g + s A^T B^T g; with the branch
of W under ``no_grad`` it is s A^T B^T g, and the two numbers differ.

Judged is what can be judged: deterministic, smooth, small. A forward without slope (rounding: straight-through estimators) and a function that
returns its input (gradient reversal and scaling) differ from their backward on purpose; their entries have ``ok`` ``None``.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .models import kinds, tensors_in
from .protocol import Places

_STEPS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # larger ones where the forward rounds to float32 on its way
_AGREE = 1e-3  # two numeric derivatives of neighbouring steps agree within this, relative
_TOLERANCE = 2e-3
_TRIALS = 3
_SIZE = 0.3  # root mean square of trainable matrices while they are checked, where it is less: else one branch drowns the other
_MOST_ELEMENTS = 1 << 18  # of all inputs together
_MOST_PARAMETERS = 1 << 21
_MOST_KINDS = 12  # classes
_MOST_LEAVES = 10
_SECONDS = 8.0
_RANDOM = ("Dropout", "AlphaDropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d")


class _Call:
    """The first call of a module or function, with copies of what it got."""

    def __init__(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], needed: set[str]) -> None:
        self.target = target  # a class, or a weak reference to a module
        self.args, self.kwargs = args, kwargs
        self.needed = needed  # inputs whose gradient the step asked for


class Checks:
    """Keeps calls of the user's modules and functions, and checks them afterwards."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._calls: dict[type, _Call | None] = {}

    def look(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep the call of a user's module, if it is of use. A call whose inputs need a gradient is preferred to an earlier one."""
        cls = type(module)
        before = self._calls.get(cls)
        if (before is not None and before.needed) or (before is None and cls in self._calls) or len(self._calls) >= _MOST_KINDS:
            return
        if before is None and not _small(module):
            self._calls[cls] = None
            return
        call = _copied(weakref.ref(module), args, kwargs)
        if before is None or call is None or call.needed:
            self._calls[cls] = call

    def look_at_function(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep the call of a user's ``autograd.Function``."""
        before = self._calls.get(cls)
        if cls not in self._calls or (before is not None and not before.needed):
            self._calls[cls] = _copied(cls, args, kwargs) or before

    def run(self) -> list[dict[str, Any]]:
        """Check all that was kept; what cannot be judged is left out."""
        import torch

        found: list[dict[str, Any]] = []
        end = time.monotonic() + _SECONDS
        with _plain_arithmetic(torch):
            for cls, call in self._calls.items():
                if call is None or time.monotonic() > end:
                    continue
                with contextlib.suppress(Exception):
                    found += self._check(cls, call)
        self._calls.clear()
        return found

    def _check(self, cls: type, call: _Call) -> list[dict[str, Any]]:
        where = _where(cls)
        results = check_function(cls, call.args, call.kwargs, call.needed) if isinstance(call.target, type) else None
        if results is None:
            module = call.target()
            if module is None:
                return []
            results = check_module(module, call.args, call.kwargs, call.needed)
        return [{"class": cls.__name__, **where, **result} for result in results]


def _small(module: Any) -> bool:
    """Whether a module can be checked: small, of floating point, without models of libraries or quantized layers in it."""
    total = 0
    for part in module.modules():
        names = kinds(type(part))
        if names & {"PreTrainedModel", "PeftModel", "LightningModule", "Embedding"} or "bitsandbytes" in type(part).__module__:
            return False
        for tensor in [*part._parameters.values(), *part._buffers.values()]:
            if tensor is None:
                continue
            total += tensor.numel()
            if total > _MOST_PARAMETERS or tensor.device.type == "meta":
                return False
    return all(parameter.is_floating_point() for parameter in module.parameters())


def _copied(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call | None:
    """Copies of the inputs; ``None`` where there is no floating point among them, or they are too large or of unknown kinds."""
    import torch

    tensors = list(tensors_in((args, kwargs)))
    if not any(tensor.is_floating_point() for tensor in tensors) or sum(tensor.numel() for tensor in tensors) > _MOST_ELEMENTS:
        return None
    needed = set()
    for name, value in _named(args, kwargs):
        if isinstance(value, torch.Tensor) and value.requires_grad:
            needed.add(name)

    def copied(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().clone()
        if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
            return type(value)(copied(item) for item in value)
        if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device)):
            return value
        raise TypeError

    try:
        return _Call(target, tuple(copied(value) for value in args), {name: copied(value) for name, value in kwargs.items()}, needed)
    except TypeError:
        return None


def _named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for index, value in enumerate(args):
        yield f"input {index}", value
    for name, value in kwargs.items():
        yield f"input {name}", value


@contextlib.contextmanager
def _plain_arithmetic(torch: Any) -> Iterator[None]:
    """Gradients on, autocast off, and the random numbers of the script untouched."""
    state = torch.get_rng_state()
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
            stack.enter_context(torch.autocast(device, enabled=False))
        try:
            yield
        finally:
            torch.set_rng_state(state)


def check_module(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], needed: set[str] | None = None) -> list[dict[str, Any]]:
    """Compare autograd and finite differences of a copy of a module, for its trainable parameters and for the inputs ``needed`` (``None``: all).

    In training mode without dropout if the result is the same each time, else in evaluation mode. Empty where neither is.
    """
    import torch

    twin = copy.deepcopy(module).double()
    for part in twin.modules():
        if type(part).__name__ in _RANDOM:
            part.eval()
    args, kwargs = _doubled(args), _doubled(kwargs)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in twin.parameters():
            if parameter.requires_grad and parameter.dim() > 1:
                size = float(parameter.square().mean().sqrt())
                if size == 0.0:  # B = 0 would hide what is wrong with A
                    parameter.copy_(torch.randn(parameter.shape, dtype=parameter.dtype, generator=generator).to(parameter.device) * _SIZE)
                elif size < _SIZE / 4:
                    parameter.mul_(_SIZE / size)
        if not _same_twice(lambda: twin(*args, **kwargs)) and not _same_twice(lambda: twin.eval()(*args, **kwargs)):
            return []
    parameters = {name: parameter for name, parameter in twin.named_parameters() if parameter.requires_grad}
    return _compare(lambda new_args, new_kwargs: twin(*new_args, **new_kwargs), args, kwargs, parameters, needed)


def check_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], needed: set[str] | None = None) -> list[dict[str, Any]]:
    """As ``check_module``, for an ``autograd.Function``; one that returns an input unchanged is not judged."""
    import torch

    args, kwargs = _doubled(args), _doubled(kwargs)
    with torch.no_grad():
        if not _same_twice(lambda: function.apply(*args, **kwargs)):
            return []
        outputs = list(tensors_in(function.apply(*args, **kwargs)))
    results = _compare(lambda new_args, new_kwargs: function.apply(*new_args, **new_kwargs), args, kwargs, {}, needed)
    inputs = list(tensors_in((args, kwargs)))
    if any(output.shape == given.shape and torch.equal(output, given) for output in outputs for given in inputs):
        results = [{**result, "ok": result["ok"] or None} for result in results]
    return results


def _compare(
    function: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    parameters: dict[str, Any],
    needed: set[str] | None,
) -> list[dict[str, Any]]:
    import torch

    generator = torch.Generator().manual_seed(1)
    inputs = {name: value for name, value in _named(args, kwargs) if isinstance(value, torch.Tensor) and value.is_floating_point()}
    inputs = {name: value.detach().requires_grad_() for name, value in inputs.items() if needed is None or name in needed}
    leaves = dict(list({**inputs, **parameters}.items())[:_MOST_LEAVES])
    weights: list[Any] = []

    def total() -> Any:
        new_args = tuple(inputs[name].clone() if (name := f"input {index}") in inputs else value for index, value in enumerate(args))
        new_kwargs = {key: inputs[name].clone() if (name := f"input {key}") in inputs else value for key, value in kwargs.items()}
        outputs = [tensor for tensor in tensors_in(function(new_args, new_kwargs)) if tensor.is_floating_point()]
        if not weights:
            weights.extend(torch.randn(tensor.shape, dtype=torch.float64, generator=generator).to(tensor.device) for tensor in outputs)
        return sum(map(lambda tensor, weight: (tensor.double() * weight).sum(), outputs, weights))

    value = total()
    gradients: dict[str, Any] = dict.fromkeys(leaves)
    if isinstance(value, torch.Tensor) and value.requires_grad:
        found = torch.autograd.grad(value, list(leaves.values()), allow_unused=True)
        gradients = {name: found[index] for index, name in enumerate(leaves)}
    results = []
    for name, leaf in leaves.items():
        trials: list[dict[str, Any]] = []
        for _ in range(_TRIALS):
            direction = torch.randn(leaf.shape, dtype=torch.float64, generator=generator).to(leaf.device)
            numeric = _slope(total, leaf, direction)
            if numeric is None:
                trials.clear()
                break
            gradient = gradients[name]
            analytic = 0.0 if gradient is None else float((gradient * direction).sum())
            size = max(abs(analytic), abs(numeric))
            error = abs(analytic - numeric) / size if size > 1e-9 else 0.0
            trials.append({"what": name, "autograd": analytic, "numeric": numeric, "error": error})
        if trials:
            worst = max(trials, key=lambda trial: float(trial["error"]))
            flat = worst["numeric"] == 0.0 and worst["autograd"] != 0.0
            # what is wrong is wrong in most directions, by however little; what is right may cross a kink in one
            ok = 2 * sum(trial["error"] < _TOLERANCE for trial in trials) > len(trials)
            results.append({**worst, "ok": None if flat else ok})
    return results


def _slope(total: Callable[[], Any], leaf: Any, direction: Any) -> float | None:
    """The derivative of ``total`` along a direction by central differences; ``None`` where no two step sizes agree on one."""
    import torch

    start = leaf.detach().clone()
    before: float | None = None
    try:
        with torch.no_grad():
            for step in _STEPS:
                leaf.copy_(start + step * direction)
                high = float(total())
                leaf.copy_(start - step * direction)
                low = float(total())
                slope = (high - low) / (2 * step)
                if before is not None and abs(slope - before) <= _AGREE * max(abs(slope), abs(before)) + 1e-12:
                    return before
                before = slope
    finally:
        with torch.no_grad():
            leaf.copy_(start)
    return None


def _same_twice(call: Callable[[], Any]) -> bool:
    import torch

    first, second = (list(tensors_in(call())) for _ in range(2))
    return len(first) == len(second) and all(map(lambda a, b: a.shape == b.shape and torch.equal(a, b), first, second))


def _doubled(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, (tuple, list)):
        return type(value)(_doubled(item) for item in value)
    if isinstance(value, dict):
        return {name: _doubled(item) for name, item in value.items()}
    return value


def _where(cls: Any) -> dict[str, Any]:
    """The file of a class's forward and the line where it is defined."""
    code = inspect.unwrap(cls.forward).__code__
    return {"file": code.co_filename, "line": code.co_firstlineno}
