"""What is switched off: evaluation, checkpoints, uploads, long generations, waiting, worker processes, kernels that need a GPU."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import multiprocessing
import multiprocessing.pool
import os
import sys
import time
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

from .common import Twin
from .paths import is_path
from .reporting import Metrics

_TOKENS = 4
_NAP = 0.01  # seconds
_IMPOSSIBLE = {"unsloth": "it replaces the libraries by its own kernels", "unsloth_zoo": "it replaces the libraries by its own kernels"}
_BATCH = 8


def install(twin: Twin) -> None:
    """Patch what is imported, and the rest when it will be."""
    sleep = time.sleep
    twin.patches.set(time, "sleep", lambda seconds: sleep(min(seconds, _NAP)))
    for name in ("Pool",):
        twin.patches.set(multiprocessing, name, _threads(twin, multiprocessing.pool.ThreadPool))
    twin.patches.set(concurrent.futures, "ProcessPoolExecutor", _executor(twin))
    finder = _Refused(twin)
    sys.meta_path.insert(0, finder)
    twin.at_undo(lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None)
    when = twin.when
    when("transformers.trainer", lambda module: _patch_trainer(twin, module))
    when("transformers.trainer_callback", lambda module: _patch_callbacks(twin, module))
    when("transformers.generation.utils", lambda module: twin.wrap(module.GenerationMixin, "generate", lambda f: _generate(twin, f)))
    when("transformers.modeling_utils", lambda module: _patch_saves(twin, module.PreTrainedModel))
    when("peft.peft_model", lambda module: _patch_saves(twin, module.PeftModel))
    when("transformers.tokenization_utils_base", lambda module: _patch_saves(twin, module.PreTrainedTokenizerBase))
    when("transformers.processing_utils", lambda module: _patch_saves(twin, module.ProcessorMixin))
    when("transformers.utils.hub", lambda module: twin.wrap(module.PushToHubMixin, "push_to_hub", lambda f: _nothing(twin, "pushing to the hub")))
    when("torch.utils.data.dataloader", lambda module: twin.wrap(module.DataLoader, "__init__", lambda f: _loader(twin, f)))
    when("bitsandbytes.optim", lambda module: _patch_optimizers(twin, module))
    when("accelerate.accelerator", lambda module: _patch_accelerator(twin, module))


def _nothing(twin: Twin, what: str, result: Any = None) -> Callable[..., Any]:
    def do(*args: Any, **kwargs: Any) -> Any:
        twin.off(what)
        return result

    return do


def _threads(twin: Twin, cls: Any) -> Callable[..., Any]:
    def pool(processes: Any = None, initializer: Any = None, initargs: Any = (), *_: Any, **__: Any) -> Any:
        twin.off("several processes (threads instead)")
        return cls(min(processes or 2, 2), initializer, initargs)

    return pool


def _executor(twin: Twin) -> Callable[..., Any]:
    def executor(max_workers: Any = None, mp_context: Any = None, initializer: Any = None, initargs: Any = (), **_: Any) -> Any:
        twin.off("several processes (threads instead)")
        return concurrent.futures.ThreadPoolExecutor(min(max_workers or 2, 2), initializer=initializer, initargs=initargs)

    return executor


class _Refused(MetaPathFinder):
    """Says why a package cannot be used here, in place of what would go wrong within it."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> None:
        """Raises ImportError for a package that cannot be used."""
        why = _IMPOSSIBLE.get(name)
        if why is not None and self._twin.record.line() is not None:
            self._twin.off(f"{name}: {why}")
            raise ImportError(f"--verify cannot run {name}: {why}", name=name)


def _patch_trainer(twin: Twin, module: ModuleType) -> None:
    cls = module.Trainer

    def evaluate(original: Any) -> Callable[..., Any]:
        def evaluate(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            twin.off("evaluation")
            return Metrics({"eval_loss": 1.0})

        return evaluate

    def init(original: Any) -> Callable[..., None]:
        def init(trainer: Any, model: Any = None, args: Any = None, *more: Any, **kwargs: Any) -> None:
            if kwargs.get("callbacks"):
                kwargs["callbacks"] = [callback for callback in kwargs["callbacks"] if not _reports(callback)]
            original(trainer, model, args, *more, **kwargs)

        return init

    twin.wrap(cls, "__init__", init)
    twin.wrap(cls, "evaluate", evaluate)
    twin.wrap(cls, "push_to_hub", lambda original: _nothing(twin, "pushing to the hub"))
    twin.wrap(cls, "_save_checkpoint", lambda original: _nothing(twin, "saving checkpoints"))
    twin.wrap(cls, "save_model", lambda original: _saved(twin, original))
    twin.wrap(cls, "create_model_card", lambda original: _nothing(twin, "a model card"))
    for name in ("log_metrics", "save_metrics", "save_state"):
        if name in vars(cls):
            twin.wrap(cls, name, lambda original: _nothing(twin, "reporting"))


def _reports(callback: Any) -> bool:
    name = getattr(callback, "__name__", type(callback).__name__)
    return name.removesuffix("Callback") in ("Wandb", "MLflow", "Comet", "TensorBoard", "SwanLab", "Neptune", "ClearML")


def _patch_callbacks(twin: Twin, module: ModuleType) -> None:
    for name in ("on_train_begin", "on_evaluate"):
        twin.wrap(module.EarlyStoppingCallback, name, lambda original: _nothing(twin, "evaluation"))


def _generate(twin: Twin, original: Any) -> Callable[..., Any]:
    def generate(model: Any, *args: Any, **kwargs: Any) -> Any:
        config = kwargs.get("generation_config")
        if config is None:
            config = next((part for part in args if type(part).__name__ == "GenerationConfig"), None)
        asked = kwargs.get("max_new_tokens") or getattr(config, "max_new_tokens", None)
        for name in ("max_length", "min_length", "min_new_tokens", "cache_implementation", "compile_config", "custom_generate"):
            kwargs.pop(name, None)
        if config is not None:
            import copy

            short = copy.deepcopy(config)
            short.max_new_tokens, short.max_length, short.min_length, short.min_new_tokens, short.cache_implementation = _TOKENS, None, 0, None, None
            if "generation_config" in kwargs:
                kwargs["generation_config"] = short
            else:
                args = tuple(short if part is config else part for part in args)
        kwargs["max_new_tokens"] = min(asked, _TOKENS) if isinstance(asked, int) else _TOKENS
        if isinstance(kwargs.get("num_beams"), int):
            kwargs["num_beams"] = min(kwargs["num_beams"], 2)
            if isinstance(kwargs.get("num_return_sequences"), int):
                kwargs["num_return_sequences"] = min(kwargs["num_return_sequences"], kwargs["num_beams"])
        if asked is None or asked > _TOKENS:
            twin.off(f"generating more than {_TOKENS} tokens")
        return original(model, *args, **kwargs)

    return generate


def _patch_saves(twin: Twin, cls: Any) -> None:
    twin.wrap(cls, "save_pretrained", lambda original: _saved(twin, original))


def _saved(twin: Twin, original: Any) -> Callable[..., Any]:
    """A save into a folder: elsewhere than in the scratch folder it goes into its likeness there, and never to the hub."""

    def save(self: Any, place: Any = None, *args: Any, **kwargs: Any) -> Any:
        for name in ("save_directory", "output_dir"):
            if place is None and name in kwargs:
                place = kwargs.pop(name)
        if not twin.busy:
            if kwargs.pop("push_to_hub", False):
                twin.off("pushing to the hub")
            if is_path(place):
                inside = twin.paths.redirected(place)
                if inside != os.fsdecode(place):
                    twin.off(f"saving to {os.fsdecode(place)}")
                    place = inside
        return original(self, *(() if place is None else (place,)), *args, **kwargs)

    return save


def _loader(twin: Twin, original: Any) -> Callable[..., None]:
    def init(loader: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
        names = ("batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last", "timeout")
        kwargs.update(zip(names, args))
        if kwargs.get("num_workers"):
            twin.off("worker processes")
        for name in ("num_workers", "prefetch_factor", "persistent_workers", "multiprocessing_context", "pin_memory", "pin_memory_device", "timeout"):
            kwargs.pop(name, None)
        if isinstance(kwargs.get("batch_size"), int) and kwargs["batch_size"] > _BATCH:
            kwargs["batch_size"] = _BATCH
            twin.off(f"batches of more than {_BATCH}")
        original(loader, dataset, **kwargs)

    return init


def _patch_optimizers(twin: Twin, module: ModuleType) -> None:
    """Optimizers of bitsandbytes: where there is no CUDA device, torch's under their names."""
    if twin.device == "cuda":
        return
    import torch

    for name, cls in list(vars(module).items()):
        if not isinstance(cls, type) or not issubclass(cls, torch.optim.Optimizer):
            continue
        base = next((getattr(torch.optim, other) for other in ("AdamW", "Adam", "SGD", "RMSprop", "Adagrad") if other.lower() in name.lower()), None)
        twin.patches.set(module, name, _same(twin, name, base or torch.optim.AdamW))


def _same(twin: Twin, name: str, base: Any) -> Any:
    """An optimizer of torch under another name, which takes more arguments than it uses."""
    import inspect

    taken = set(inspect.signature(base.__init__).parameters) - {"amsgrad", "fused", "foreach", "capturable"}

    def init(self: Any, params: Any, lr: Any = 1e-3, *args: Any, **kwargs: Any) -> None:
        twin.off(f"{name} (computed by torch's {base.__name__})")
        base.__init__(self, params, lr=lr, **{key: value for key, value in kwargs.items() if key in taken and value is not None})

    return type(name, (base,), {"__init__": init, "__module__": "bitsandbytes.optim"})


def _patch_accelerator(twin: Twin, module: ModuleType) -> None:
    def make(original: Any) -> Callable[..., None]:
        def init(accelerator: Any, *args: Any, **kwargs: Any) -> None:
            if kwargs.pop("log_with", None):
                twin.off("reporting")
            for name in ("deepspeed_plugin", "deepspeed_plugins", "fsdp_plugin"):
                if kwargs.pop(name, None) is not None:
                    twin.off(name.partition("_")[0])
            if twin.device == "cpu" and kwargs.get("mixed_precision") not in (None, "no"):
                twin.off(f"mixed precision {kwargs.pop('mixed_precision')} (needs a GPU)")
            if importlib.util.find_spec("torch") and kwargs.pop("dynamo_backend", None):
                twin.off("torch.compile")
            original(accelerator, *args, **kwargs)

        return init

    twin.wrap(module.Accelerator, "__init__", make)
    twin.wrap(module.Accelerator, "init_trackers", lambda original: _nothing(twin, "reporting"))
    twin.wrap(module.Accelerator, "log", lambda original: _nothing(twin, "reporting"))
    twin.wrap(module.Accelerator, "save_state", lambda original: _nothing(twin, "saving checkpoints"))
