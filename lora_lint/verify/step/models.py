"""The models of a run: which module is whose, what it is made of, and what state it is in."""

from __future__ import annotations

import contextlib
import re
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

from .protocol import Places

_WRAPPERS = {"DistributedDataParallel", "DataParallel", "FullyShardedDataParallel", "DeepSpeedEngine", "OptimizedModule", "_FabricModule"}
_INNER = ("module", "_orig_mod", "_forward_module")
_CONTAINERS = {"ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential", "BufferDict"}
_ADAPTER = re.compile(
    r"lora|adapter|(^|_)ia3|vera_|hada_|lokr|(^|_)b?oft_|modules_to_save|prompt_encoder|prompt_embed|prefix_|trainable_tokens", re.IGNORECASE
)
_BASE = re.compile(r"base|orig|pretrained|frozen|wrapped|^(linear|layer|module|inner|main|weight|bias)$", re.IGNORECASE)


def device_of(tensor: Any) -> str:
    """Where a tensor lies, the virtual device where there are such."""
    return str(tensor.device)


def tensors_in(value: Any, limit: int = 64, depth: int = 4) -> Iterator[Any]:
    """The tensors in nested tuples, lists, mappings and model outputs, at most ``limit``."""
    import torch

    todo = [(value, depth)]
    while todo and limit > 0:
        item, left = todo.pop()
        if isinstance(item, torch.Tensor):
            limit -= 1
            yield item
        elif left and isinstance(item, (tuple, list)):
            todo += [(part, left - 1) for part in item[:limit]]
        elif left and hasattr(item, "items"):
            with contextlib.suppress(Exception):
                todo += [(part, left - 1) for _, part in item.items()]


def unwrapped(module: Any) -> Any:
    """The module that a wrapper for several processes, or for compiling, holds."""
    for _ in range(5):
        if type(module).__name__ not in _WRAPPERS:
            break
        inner = next((vars(module)["_modules"][name] for name in _INNER if name in vars(module).get("_modules", {})), None)
        if inner is None:
            break
        module = inner
    return module


def kinds(cls: type) -> set[str]:
    """The names of a class and of all it derives from."""
    return {base.__name__ for base in cls.__mro__}


def adapters_of(model: Any) -> dict[int, bool]:
    """The identities of a model's adapter parameters, and whether their adapter is active."""
    found: dict[int, bool] = {}
    for name, module in model.named_modules():
        layers = getattr(module, "adapter_layer_names", None) if "BaseTunerLayer" in kinds(type(module)) else None
        if layers is None and type(module).__name__ == "ModulesToSaveWrapper":
            layers = ("modules_to_save",)
        for attribute in layers or ():
            for adapter, part in _parts(getattr(module, attribute, None)):
                for parameter in part:
                    found[id(parameter)] = adapter in _active(module)
        if layers is None:
            for own, parameter in module._parameters.items():
                if parameter is not None and id(parameter) not in found and _named_like_adapter(f"{name}.{own}"):
                    found[id(parameter)] = True
    return found


def _named_like_adapter(name: str) -> bool:
    segments = name.split(".")
    for index, segment in enumerate(segments):
        if _ADAPTER.search(segment) and not _BASE.search(segment):
            return not any(_BASE.search(later) and later not in ("weight", "bias") for later in segments[index + 1 :])
    return False


def _parts(container: Any) -> Iterator[tuple[str, list[Any]]]:
    """Of a dictionary of modules or parameters by adapter: each adapter's parameters."""
    if container is None or not hasattr(container, "items"):
        return
    for adapter, part in container.items():
        yield adapter, list(part.parameters()) if hasattr(part, "parameters") else [part]


def _active(module: Any) -> list[str]:
    active = getattr(module, "active_adapters", None)
    if active is None:
        active = getattr(module, "active_adapter", "default")
    if callable(active):
        active = active()
    return [active] if isinstance(active, str) else list(active or [])


def owners(model: Any) -> dict[int, set[int]]:
    """For each parameter, by identity, the modules whose call uses it: those that hold it, or that hold the container which does."""
    found: dict[int, set[int]] = {}

    def visit(module: Any, caller: int) -> None:
        if type(module).__name__ not in _CONTAINERS or type(module).__name__ == "Sequential":
            caller = id(module)
        for parameter in module._parameters.values():
            if parameter is not None:
                found.setdefault(id(parameter), set()).add(caller)
        for child in module._modules.values():
            if child is not None:
                visit(child, caller)

    visit(model, id(model))
    return found


class Model:
    """One model of the script: what was called as a whole, without wrappers around it."""

    def __init__(self, number: int, module: Any) -> None:
        self.number = number
        self._module = weakref.ref(module)
        self.state: dict[str, Any] = {"id": number, "class": type(module).__name__}
        self.trained = False  # whether ``state`` is that of a forward in training
        self.called: set[int] = set()
        self.grads: dict[str, int] = {}  # of each trainable tensor: 0 no gradient, 1 all zero, 2 fine
        self.randomised = False

    @property
    def module(self) -> Any:
        """The module, or ``None`` where it is gone."""
        return self._module()


class Models:
    """Finds the model that a module belongs to."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._interesting: dict[type, bool] = {}
        self._made: dict[int, tuple[Any, int | None]] = {}  # by identity: a weak reference, the line
        self._prepared: dict[int, Any] = {}
        self.all: list[Model] = []

    def interesting(self, cls: type) -> bool:
        """Whether a class is a model of a library, or a module that the user wrote."""
        answer = self._interesting.get(cls)
        if answer is None:
            names = kinds(cls)
            answer = bool(names & {"PreTrainedModel", "PeftModel", "LightningModule"}) or self.users(cls)
            self._interesting[cls] = answer
        return answer

    def users(self, cls: type) -> bool:
        """Whether a class is defined in the user's files."""
        return defined_in(cls, self._places)

    def made(self, module: Any) -> None:
        """Note the line on which a module is made."""
        if self.interesting(type(module)):
            frame: types.FrameType | None = sys._getframe(1)
            while frame is not None and _first_argument(frame) is module:  # the constructors, down to ours
                frame = frame.f_back
            self._made[id(module)] = (weakref.ref(module), self._places.line(frame))

    def prepared(self, module: Any) -> None:
        """Note that a model was prepared for training on a quantized base."""
        self._prepared[id(module)] = weakref.ref(module)

    def _alive(self) -> list[tuple[Any, int | None]]:
        found = []
        for key, (reference, line) in list(self._made.items()):
            module = reference()
            if module is None:
                del self._made[key]
            else:
                found.append((module, line))
        return found

    def of(self, root: Any) -> Model:
        """The model that a called module is, or is a part of."""
        root = unwrapped(root)
        best, size = root, 0
        for module, _ in self._alive():
            if kinds(type(module)) & {"PreTrainedModel", "PeftModel"} and module is not root:
                parts = list(module.modules())
                if len(parts) > size and any(part is root for part in parts):
                    best, size = module, len(parts)
        return self._entry(best)

    def _entry(self, module: Any) -> Model:
        for model in self.all:
            if model.module is module:
                return model
        model = Model(len(self.all) + 1, module)
        self.all.append(model)
        return model

    def trainable_adapters(self) -> set[int]:
        """The identities of all active adapter parameters that require grad, of whatever model is alive."""
        modules = [model.module for model in self.all] + [module for module, _ in self._alive()]
        found = set()
        for module in modules:
            if module is not None:
                trainable = {id(parameter) for parameter in module.parameters() if parameter.requires_grad}
                found |= {key for key, active in adapters_of(module).items() if active and key in trainable}
        return found

    def owner_of(self, held: set[int]) -> Model | None:
        """The model that most of these parameters, by identity, belong to; the last one made where several share them."""
        best: Model | None = None
        most = 0
        for model in [*self.all, *self.others()]:
            module = model.module
            count = sum(id(parameter) in held for parameter in module.parameters()) if module is not None else 0
            if count >= most and count:
                best, most = model, count
        return best

    def others(self) -> list[Model]:
        """Models that were made and never called, as far as they are alive: the outermost ones."""
        alive = [module for module, _ in self._alive() if kinds(type(module)) & {"PreTrainedModel", "PeftModel"}]
        alive = [module for module in alive if next(module.parameters(), None) is not None]  # made in full
        inner = {id(part) for module in alive for part in module.modules() if part is not module}
        known = {id(part) for model in self.all if model.module is not None for part in model.module.modules()}
        return [self._entry(module) for module in alive if id(module) not in inner | known]

    def describe(self, model: Model) -> dict[str, Any]:
        """Bring a model's state up to date, as it goes into the report."""
        root = model.module
        if root is None:
            return model.state
        parts = list(root.modules())
        by_identity = {id(part): part for part in parts}
        lines = [(key, line) for key, (_, line) in self._made.items() if key in by_identity and line is not None]
        peft = next((part for part in parts if "PeftModel" in kinds(type(part))), None)
        base = root
        if peft is not None and (root is peft or not self.users(type(root))):
            with contextlib.suppress(Exception):
                base = peft.get_base_model()
        names = {type(part).__name__ for part in parts}
        adapters = adapters_of(root)
        parameters = list(root.parameters())
        configs = _adapter_configs(root, parts)
        checkpointing = next((part for part in parts if getattr(part, "gradient_checkpointing", False) is True), None)
        device_map = next((vars(part)["hf_device_map"] for part in parts if "hf_device_map" in vars(part)), None)
        model.state = {
            "id": model.number,
            "class": type(base).__name__,
            "line": next((line for key, line in lines if key == id(base)), min((line for _, line in lines), default=None)),
            "lines": sorted({line for _, line in lines}),
            "wrapped": type(peft).__name__ if peft is not None and peft is not base else None,
            "quantized": 4 if names & {"Linear4bit", "LinearNF4", "LinearFP4"} else 8 if "Linear8bitLt" in names else None,
            "device_map": {key: str(place) for key, place in device_map.items()} if isinstance(device_map, dict) else None,
            "devices": sorted({device_of(parameter) for parameter in parameters}),
            "adapters": sorted(configs),
            "checkpointing": checkpointing is not None,
            "reentrant": _reentrant(checkpointing),
            "input_grads": any(_makes_inputs_require_grad(part) for part in parts),
            "prepared_kbit": any(key in by_identity and part() is not None for key, part in self._prepared.items()),
            "parameters": len(parameters),
            "trainable": sum(parameter.requires_grad for parameter in parameters),
            "frozen_adapters": sum(adapters.get(id(parameter), False) and not parameter.requires_grad for parameter in parameters),
            "adapter_tensors": len(adapters),
            "inference_mode": any(bool(getattr(config, "inference_mode", False)) for config in configs.values()),
        }
        return model.state


def _first_argument(frame: types.FrameType) -> Any:
    names = frame.f_code.co_varnames
    return frame.f_locals.get(names[0]) if names and frame.f_code.co_argcount else None


def defined_in(cls: type, places: Places) -> bool:
    """Whether the text of a class stands in the user's files; methods that were put into it from there do not count."""
    module = sys.modules.get(cls.__module__)
    if places.mine(getattr(module, "__file__", None) or ""):
        return True
    for item in vars(cls).values():
        function = getattr(item, "__func__", item)
        code = getattr(function, "__code__", None)
        if code is not None and function.__qualname__.startswith(f"{cls.__qualname__}.") and places.mine(code.co_filename):
            return True
    return False


def _adapter_configs(root: Any, parts: list[Any]) -> dict[str, Any]:
    for part in [root, *parts]:
        configs = vars(part).get("peft_config")
        if isinstance(configs, dict):
            return dict(configs)
    return {}


def _reentrant(part: Any) -> bool | None:
    function = getattr(part, "_gradient_checkpointing_func", None)
    chosen = getattr(function, "keywords", {}).get("use_reentrant")
    return None if chosen is None else bool(chosen)


def _makes_inputs_require_grad(part: Any) -> bool:
    hooks = list(part._forward_hooks.values())
    return any("require_grad" in getattr(hook, "__qualname__", "") for hook in hooks)
