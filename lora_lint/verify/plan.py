"""The plan of a run: what is executed, on what, and what stands in for what the script would download or be given."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from lora_lint.project import find_root
from lora_lint.recipe.machine import Recipe
from lora_lint.source import Source
from lora_lint.verify.columns import read_columns
from lora_lint.verify.commandline import command_line

Device = Literal["virtual", "cuda", "cpu"]
Until = Literal["step", "save"]

_TWO_GPUS = frozenset({"LL301", "LL304"})  # rules about models that are spread over several
_ONE_GPU = frozenset({"LL303"})  # a model that is spread moves its inputs itself
_SAVES = frozenset({"LL406"})


@dataclass(frozen=True)
class Limits:
    """Rows of each data set, tokens of each of them, and rows of a batch."""

    rows: int = 64
    length: int = 64
    batch: int = 2


@dataclass(frozen=True)
class Datasets:
    """Columns that the script reads: of all data, and of what is loaded on a line (the line is text, as in JSON)."""

    columns: list[str] = field(default_factory=list)
    by_line: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """What the user, and the findings, ask of a run.

    ``devices`` is a number of virtual GPUs; ``None`` lets the findings decide, whose codes are ``codes``. ``text`` is a file whose contents run as
    the script. ``folder`` is where the script would be started.
    """

    argv: tuple[str, ...] = ()
    device: Device = "virtual"
    devices: int | None = None
    codes: frozenset[str] = frozenset()
    text: Path | None = None
    folder: Path | None = None
    gradcheck: bool = True


@dataclass(frozen=True)
class Plan:
    """What the child is told; all paths are absolute. The scratch folder and the place of the report are added where the child is started.

    ``arguments`` are values for required options of argparse, ``paths`` the folders of the project's own packages, which are there after an editable
    install, ``hub_cache`` the folder from which configurations of models may be read.
    """

    script: str
    argv: list[str] = field(default_factory=list)
    device: Device = "virtual"
    devices: int = 1
    until: Until = "step"
    limits: Limits = field(default_factory=Limits)
    datasets: Datasets = field(default_factory=Datasets)
    arguments: dict[str, str] = field(default_factory=dict)
    text: str | None = None
    cwd: str | None = None
    paths: list[str] = field(default_factory=list)
    hub_cache: str | None = None
    gradcheck: bool = True
    lock: bool = True

    def to_json(self) -> dict[str, Any]:
        """The plan as an object of JSON, without what is not set."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The inverse of ``to_json``. Raises ``TypeError`` for an entry that a plan does not have."""
        parts = {"limits": Limits, "datasets": Datasets}
        return cls(**{name: parts[name](**value) if name in parts else value for name, value in data.items()})


def plan_of(source: Source, recipe: Recipe, options: Options) -> Plan:
    """The plan for a script that was read from a file. Raises ``ValueError`` where its text has no file."""
    if source.file is None:
        raise ValueError(f"{source.path}: only a file can be run")
    tree = _tree(source)
    columns = read_columns(tree)
    line = command_line(tree, recipe, options.argv)
    script = os.path.abspath(source.file)
    return Plan(
        script=script,
        argv=list(line.argv),
        device=options.device,
        devices=_devices(options) if options.device == "virtual" else 1,
        until="save" if options.codes & _SAVES else "step",
        datasets=Datasets(columns.anywhere, {str(number): names for number, names in columns.by_line.items()}),
        arguments=line.arguments,
        text=os.path.abspath(options.text) if options.text is not None else None,
        cwd=os.path.abspath(options.folder) if options.folder is not None else os.getcwd(),
        paths=[str(folder) for folder in (find_root(source.file), find_root(source.file) / "src") if folder.is_dir()],
        hub_cache=_hub_cache(os.environ),
        gradcheck=options.gradcheck,
    )


def _devices(options: Options) -> int:
    if options.devices is not None:
        return options.devices
    return 2 if options.codes & _TWO_GPUS and not options.codes & _ONE_GPU else 1


def _tree(source: Source) -> ast.Module:
    """The script as this interpreter reads it; empty where it does not, which costs only the guesses."""
    try:
        return ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _hub_cache(environment: Mapping[str, str]) -> str | None:
    """Where huggingface_hub keeps what was downloaded, by its own order of variables; ``None`` where there is no such folder."""
    home = environment.get("HF_HOME") or os.path.join(environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface")
    place = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE") or os.path.join(home, "hub")
    place = os.path.abspath(os.path.expanduser(place))
    return place if os.path.isdir(place) else None
