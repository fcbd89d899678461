"""Arguments: those of trainers keep what decides how the step goes and lose what only costs time; required ones of the command line are filled in."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .common import Twin

LENGTH = 4  # times the plan's length: the template of a prompt has to fit in front of the answer
_SHORT = 4  # generated tokens
_OFF: tuple[tuple[str, Any, str], ...] = (
    ("eval_strategy", "no", "evaluation"),
    ("evaluation_strategy", "no", "evaluation"),
    ("do_eval", False, ""),
    ("eval_on_start", False, "evaluation"),
    ("load_best_model_at_end", False, "evaluation"),
    ("save_strategy", "no", "saving checkpoints"),
    ("push_to_hub", False, "pushing to the hub"),
    ("hub_token", None, ""),
    ("report_to", "none", "reporting"),
    ("dataloader_num_workers", 0, "worker processes"),
    ("dataset_num_proc", None, "worker processes"),
    ("dataloader_prefetch_factor", None, ""),
    ("dataloader_persistent_workers", False, ""),
    ("dataloader_pin_memory", False, ""),
    ("torch_compile", False, "torch.compile"),
    ("torch_compile_backend", None, ""),
    ("torch_compile_mode", None, ""),
    ("deepspeed", None, "deepspeed"),
    ("fsdp", "", "fsdp"),
    ("fsdp_config", None, ""),
    ("tf32", None, ""),
    ("use_liger_kernel", False, "liger kernels"),
    ("use_liger", False, "liger kernels"),
    ("use_liger_loss", False, "liger kernels"),
    ("use_vllm", False, "vllm"),
    ("auto_find_batch_size", False, ""),
    ("logging_steps", 1, ""),
    ("logging_first_step", False, ""),
    ("disable_tqdm", True, ""),
    ("padding_free", False, "padding-free batches"),
    ("jit_mode_eval", False, ""),
    ("resume_from_checkpoint", None, ""),
    ("log_completions", False, ""),
)
_ASKS_NOTHING: tuple[Any, ...] = (None, False, "", "no", "none", 0, [], "IntervalStrategy.NO", "SaveStrategy.NO", ["none"])
_DEFAULTS = {"save_strategy": "steps", "report_to": ["all", "none"], "logging_steps": 500}
_LENGTHS = ("max_length", "max_seq_length", "max_prompt_length", "max_target_length", "max_source_length")
_GENERATED = ("max_completion_length", "max_new_tokens", "generation_max_length", "response_length")
_AT_MOST = {"num_generations": 2, "gradient_accumulation_steps": 2, "num_mini_batches": 1, "num_ppo_epochs": 1, "num_iterations": 1, "ppo_epochs": 1}
_OPTIMIZERS = re.compile(r"fused|apex|npu|galore|lomo|torchao|ao_|grokadamw|schedule_free|apollo|stable_adamw|anyprecision|xla")
_REQUIRED = re.compile(r"arguments? (?:are|is) required: (.*)|one of the arguments (.*) is required", re.DOTALL)


def install(twin: Twin) -> None:
    """Patch the arguments of trainers where they are imported, and the parsers of the command line."""
    twin.when("transformers.training_args", lambda module: _patch_arguments(twin, module))
    for module_name in ("trl.trainer.ppo_config", "trl.trainer.utils", "trl.trainer.base"):
        twin.when(module_name, lambda module: _patch_old_ppo(twin, module))
    twin.wrap(argparse.ArgumentParser, "parse_known_args", lambda original: _fill(twin, original))


def _patch_arguments(twin: Twin, module: ModuleType) -> None:
    def make(original: Any) -> Callable[..., None]:
        def post_init(arguments: Any) -> None:
            lighten(twin, arguments)
            original(arguments)

        return post_init

    twin.wrap(module.TrainingArguments, "__post_init__", make)


def _patch_old_ppo(twin: Twin, module: ModuleType) -> None:
    """The configuration of PPO before it was one of a trainer of transformers."""
    cls = getattr(module, "PPOConfig", None)
    training = getattr(sys.modules.get("transformers.training_args"), "TrainingArguments", None)
    if cls is None or (training is not None and issubclass(cls, training)) or "__post_init__" not in vars(cls):
        return

    def make(original: Any) -> Callable[..., None]:
        def post_init(config: Any) -> None:
            config.log_with = None
            for name, size in (("batch_size", 2), ("mini_batch_size", 1), ("gradient_accumulation_steps", 1), ("ppo_epochs", 1)):
                if hasattr(config, name):
                    setattr(config, name, size)
            twin.off("batches of more than 2")
            original(config)

        return post_init

    twin.wrap(cls, "__post_init__", make)


def lighten(twin: Twin, arguments: Any) -> None:
    """Take from a trainer's arguments what only costs time or leaves traces, before they are checked."""
    asked = set()
    for name, value, what in _OFF:
        if not hasattr(arguments, name):
            continue
        before = getattr(arguments, name)
        if what and not _is_default(name, before):
            asked.add(what)
        setattr(arguments, name, value)
    if twin.device == "cuda" and getattr(arguments, "tf32", False) is None:
        pass
    for name, cap in (
        *((name, LENGTH * twin.length) for name in _LENGTHS),
        *((name, _SHORT) for name in _GENERATED),
        *_AT_MOST.items(),
        ("per_device_train_batch_size", twin.batch),
        ("per_device_eval_batch_size", twin.batch),
        ("per_gpu_train_batch_size", twin.batch),
        ("generation_batch_size", twin.batch),
    ):
        value = getattr(arguments, name, None)
        if isinstance(value, int) and not isinstance(value, bool) and value > cap:
            setattr(arguments, name, cap)
    arguments.max_steps = 1
    if getattr(arguments, "warmup_steps", 0):
        arguments.warmup_steps = 0
    _fit_device(twin, arguments, asked)
    for what in sorted(asked):
        twin.off(what)
    output = getattr(arguments, "output_dir", None)
    if output is not None and not twin.paths.inside(output):
        arguments.output_dir = twin.paths.redirected(output)
    for name in ("logging_dir", "run_name"):
        value = getattr(arguments, name, None)
        if name == "logging_dir" and value is not None and not twin.paths.inside(value):
            arguments.logging_dir = twin.paths.redirected(value)
    model_options = getattr(arguments, "model_init_kwargs", None)
    if isinstance(model_options, dict) and str(model_options.get("attn_implementation", "")).startswith("flash"):
        arguments.model_init_kwargs = {**model_options, "attn_implementation": "sdpa"}


def _is_default(name: str, value: Any) -> bool:
    text = getattr(value, "value", value)
    if text in _ASKS_NOTHING or str(value) in _ASKS_NOTHING:
        return True
    default = _DEFAULTS.get(name)
    return text == default or (isinstance(default, list) and text in default)


def _fit_device(twin: Twin, arguments: Any, asked: set[str]) -> None:
    """What the device at hand cannot do."""
    if twin.device == "cuda":
        return
    optimizer = getattr(getattr(arguments, "optim", None), "value", getattr(arguments, "optim", None))
    if isinstance(optimizer, str):
        needs_bnb = bool(re.search(r"paged|8bit|bnb", optimizer)) and importlib.util.find_spec("bitsandbytes") is None
        if needs_bnb or _OPTIMIZERS.search(optimizer):
            arguments.optim = "adamw_torch"
            if "fused" not in optimizer:
                asked.add(f"optimizer {optimizer} (replaced by adamw_torch)")
    if twin.device == "cpu":
        for name in ("fp16", "bf16", "fp16_full_eval", "bf16_full_eval"):
            if getattr(arguments, name, False):
                setattr(arguments, name, False)
                asked.add(f"{name} (needs a GPU)")
        if getattr(arguments, "half_precision_backend", None) not in (None, "auto"):
            arguments.half_precision_backend = "auto"
    elif twin.device == "virtual" and getattr(arguments, "bf16", None) is None and getattr(arguments, "fp16", None) is False:
        arguments.bf16 = None


class _MissingError(Exception):
    """The command line lacks arguments; the text is the parser's."""


def _fill(twin: Twin, original: Any) -> Callable[..., Any]:
    """Parse; where the script's own command line lacks required arguments, fill them in and parse again."""

    def parse_known_args(parser: Any, args: Any = None, namespace: Any = None, *more: Any, **others: Any) -> Any:
        if args is not None and list(args) != sys.argv[1:]:
            return original(parser, args, namespace, *more, **others)
        filled = list(sys.argv[1:]) if args is None else list(args)
        for _ in range(3):
            missing = _missing(original, parser, filled, namespace)
            if not missing:
                break
            filled += [word for action in missing for word in _words(twin, action)]
        return original(parser, filled, namespace, *more, **others)

    return parse_known_args


def _missing(original: Any, parser: Any, words: list[str], namespace: Any) -> list[Any]:
    """The required arguments that a command line lacks."""
    import copy

    def error(message: str) -> None:
        raise _MissingError(message)

    hidden = vars(parser).get("error")
    parser.error = error
    try:
        original(parser, list(words), copy.copy(namespace))
    except _MissingError as missing:
        return _named(parser, str(missing))
    except BaseException:  # it will be raised again where it matters
        return []
    finally:
        if hidden is None:
            del parser.error
        else:
            parser.error = hidden
    return []


def _named(parser: Any, message: str) -> list[Any]:
    found = _REQUIRED.search(message)
    if found is None:
        return []
    if found[1] is None:
        first = found[2].split()[0]
        return [action for action in parser._actions if first in _name(action).split("/") or first == _name(action)][:1]
    names = re.split(r",\s*", found[1].strip())
    return [action for action in parser._actions if _name(action) in names]


def _name(action: Any) -> str:
    return "/".join(action.option_strings) or str(action.metavar or action.dest)


def _words(twin: Twin, action: Any) -> list[str]:
    """An argument and a value for it, as words of a command line."""
    planned = twin.plan.get("arguments") or {}
    value = next((planned[name] for name in (*action.option_strings, action.dest, f"--{action.dest}") if name in planned), None)
    if value is None:
        value = _value(action)
    values = [str(item) for item in value] if isinstance(value, (list, tuple)) else [str(value)]
    if action.nargs == 0:
        values = []
    elif isinstance(action.nargs, int):
        values = (values * action.nargs)[: action.nargs]
    twin.replaced("argument", _name(action), " ".join(values) or "given")
    return [*action.option_strings[-1:], *values]


def _value(action: Any) -> Any:
    if action.choices:
        return next(iter(action.choices))
    kind, name = action.type, action.dest.lower()
    if kind is int:
        return 1
    if kind is float:
        return 0.001
    if kind is bool or getattr(kind, "__name__", "") in ("str2bool", "string_to_bool", "strtobool"):
        return "true"
    for pattern, value in (
        (r"out|save|log|cache", os.path.join("out", "run")),
        (r"adapter|lora|peft", "org/adapter"),
        (r"model|base|checkpoint|ckpt|pretrained", "org/model"),
        (r"tokeni[sz]er", "org/model"),
        (r"file|path|json|csv", "data.json"),
        (r"data", "org/dataset"),
        (r"text|field|column", "text"),
        (r"lr|learning_rate|ratio", "0.001"),
        (r"num|size|steps|epochs|batch|length|seed|rank", "1"),
    ):
        if re.search(pattern, name):
            return value
    return "value"
