"""Whether a script runs in several processes, and how: what it says itself, and what the lines that start it say."""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import libcst as cst

from lora_lint.launches import Launch, launches, same_script, settings
from lora_lint.recipe.conditions import ALWAYS, Condition, both, subjects
from lora_lint.recipe.events import Distributed, Site
from lora_lint.recipe.machine import Recipe
from lora_lint.recipe.values import ABSENT, REST, Const, Dict, Seq, Value, options

_MENTIONS = re.compile(r"rank|world|distribut|num_proc|n_gpu|num_gpu|ngpu|device_count|deepspeed|fsdp|ddp|zero|launch", re.IGNORECASE)
GATHER = ("stage3_gather_16bit_weights_on_model_save", "stage3_gather_fp16_weights_on_model_save")


def evidence(recipe: Recipe) -> list[Distributed]:
    """All that shows that the script runs in several processes; that of the script first."""
    return [*recipe.distributed, *_launched(recipe)]


def holds_at(recipe: Recipe, shown: Distributed, order: int) -> bool:
    """Whether evidence belongs to the run in which something happens: the module's own, or that of one function (or class) that nothing called.

    What stands in another such function may be code that never runs.
    """
    return bisect(recipe.entries, shown.order) in (0, bisect(recipe.entries, order))


def speaks_of(condition: Condition) -> bool:
    """Whether a condition tests how the script was started, so that what happens under it is the author's choice for that case."""
    return any(_MENTIONS.search(subject.text) for subject in subjects(condition))


def step(shown: Distributed) -> list[tuple[Site, str]]:
    """The evidence as a step of a finding's flow; nothing where it stands in another file."""
    return [(shown.site, shown.text)] if shown.site is not None else []


def aside(shown: Distributed) -> str:
    """The evidence as a remark in a message, where it stands in another file."""
    return f" ({shown.text})" if shown.site is None else ""


@dataclass(frozen=True)
class Zero:
    """The ZeRO stage of a DeepSpeed configuration, its section, and whether all keys of it are known."""

    stage: int
    section: Dict
    when: Condition
    known: bool


def zeros(recipe: Recipe, config: Value | None) -> Iterator[Zero]:
    """The stages that a DeepSpeed configuration can mean, as far as they are written in the script or in a file that it names."""
    for condition, value in options(config if config is not None else ABSENT):
        whole = _read(recipe, value.value) if isinstance(value, Const) and isinstance(value.value, str) else value
        if not isinstance(whole, Dict):
            continue
        for inner, section in options(whole.slots.get("zero_optimization", ABSENT)):
            if not isinstance(section, Dict):
                continue
            for third, stage in options(section.slots.get("stage", ABSENT)):
                if isinstance(stage, Const) and isinstance(stage.value, int):
                    yield Zero(stage.value, section, both(condition, both(inner, third)), REST not in section.slots and REST not in whole.slots)


def _read(recipe: Recipe, name: str) -> Value | None:
    text = recipe.project.text(name, recipe.source) if recipe.project is not None and name.endswith(".json") else None
    try:
        return _value(json.loads(text)) if text is not None else None
    except (ValueError, RecursionError):
        return None


def _value(data: Any) -> Value:
    if isinstance(data, dict):
        return Dict({key: _value(held) for key, held in data.items()})
    if isinstance(data, list):
        return Seq.of([_value(held) for held in data])
    return Const(data)


def _launched(recipe: Recipe) -> Iterator[Distributed]:
    """What the launch lines for this very script say: those of its own head, and those of the shell scripts beside it."""
    path = PurePath(recipe.source.file or recipe.source.path)
    folder = path.parent.as_posix()
    texts = [("a comment", _head(recipe))]
    if recipe.project is not None:
        texts += recipe.project.launchers(recipe.source)
    for where, text in texts:
        for launch in launches(text):
            if same_script(launch.script, path.name, folder):
                yield from _kinds(recipe, where, launch)


def _head(recipe: Recipe) -> str:
    """The comments and the docstring at the top of the script."""
    module = recipe.source.module
    first = module.body[0] if module.body else None
    lines = [*module.header, *(first.leading_lines if isinstance(first, cst.SimpleStatementLine) else ())]
    comments = [line.comment.value.lstrip("#! ") for line in lines if line.comment is not None]
    return "\n".join([*comments, module.get_docstring() or ""])


def _kinds(recipe: Recipe, where: str, launch: Launch) -> Iterator[Distributed]:
    said = f"{where} starts it by {launch.launcher}"
    given = launch.options.get("config_file", "")
    file = recipe.project.text(given, recipe.source) if given and recipe.project is not None else None
    written = settings(file) if file is not None else {}
    kind = written.get("distributed_type", "").upper()
    if launch.processes is False or ((kind == "NO" or written.get("num_processes") == "1") and launch.processes is None):
        return
    if launch.arguments.get("deepspeed"):
        yield Distributed("deepspeed", said, None, config=Const(launch.arguments["deepspeed"]), active=True)
    elif kind == "DEEPSPEED" or "use_deepspeed" in launch.options:
        yield Distributed("deepspeed", said, None, config=_plugin(written), active=written.get("zero3_init_flag", "").lower() == "true")
    elif launch.arguments.get("fsdp") or kind == "FSDP" or "use_fsdp" in launch.options:
        yield Distributed("fsdp", said, None)
    elif launch.processes or kind.startswith("MULTI_") or launch.launcher == "deepspeed":
        yield Distributed("processes", said, None, ALWAYS)


def _plugin(written: dict[str, str]) -> Value | None:
    """The DeepSpeed configuration that accelerate makes of its own."""
    if "deepspeed_config_file" in written:
        return Const(written["deepspeed_config_file"])
    if not written.get("zero_stage", "").isdigit():
        return None
    section: dict[Any, Value] = {"stage": Const(int(written["zero_stage"]))}
    if "zero3_save_16bit_model" in written:
        section[GATHER[0]] = Const(written["zero3_save_16bit_model"].lower() == "true")
    return Dict({"zero_optimization": Dict(section)})
