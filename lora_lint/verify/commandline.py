"""What to give a script on its command line where the user gave nothing: the values without which it would stop at once.

The parsers of argparse are asked for what they lack while the script runs; known here is what only the recipe tells, namely which options name a
model or an adapter, and what the parameters of other command lines (fire, click, typer) are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lora_lint.recipe.machine import Recipe
from lora_lint.recipe.values import Sym, options

ADAPTER, DATASET, FOLDER = "org/adapter", "org/dataset", "out/run"
_MODEL = "org/model"  # its architecture then goes by the class that loads it
# Public checkpoints of the architectures whose layers have these names, for LoRA's target_modules.
_BY_TARGET = {
    "query_key_value": "EleutherAI/pythia-70m",
    "c_attn": "gpt2",
    "q_lin": "distilbert-base-uncased",
    "query": "roberta-base",
    "Wqkv": "mosaicml/mpt-7b",
    "qkv_proj": "microsoft/Phi-3-mini-4k-instruct",
}
_TYPES = {"int": "1", "float": "0.001", "bool": "True"}
_WORDS = (("out", FOLDER), ("save", FOLDER), ("adapter", ADAPTER), ("lora", ADAPTER), ("data", DATASET), ("model", _MODEL), ("tokenizer", _MODEL))


@dataclass(frozen=True)
class CommandLine:
    """``argv`` is to be given to the script; ``arguments`` are values for options of argparse that turn out to be required, by option."""

    argv: tuple[str, ...]
    arguments: dict[str, str]


def command_line(tree: ast.Module, recipe: Recipe, argv: Sequence[str]) -> CommandLine:
    """The user's command line, completed."""
    named = _named_by_recipe(tree, recipe)
    added: list[str] = []
    arguments: dict[str, str] = {}
    mine = {word.partition("=")[0].lstrip("-").replace("-", "_") for word in argv if word.startswith("-")}
    for name, (value, required) in named.items():
        option = _option(tree, name)
        if option is None or name in mine or option.lstrip("-").replace("-", "_") in mine:
            continue
        if required:
            arguments[option] = value
        else:
            added += [option, value]
    values = {name: value for name, (value, _) in named.items()}
    for parameter in _parameters(tree, values):
        if parameter.name not in mine and (parameter.option or not argv):
            added += [f"--{parameter.name}={parameter.value}"] if parameter.option else [parameter.value]
    return CommandLine((*argv, *added), arguments)


def _named_by_recipe(tree: ast.Module, recipe: Recipe) -> dict[str, tuple[str, bool]]:
    """The settings without a value that name a model or an adapter: what to put in, and whether the script gives no default at all."""
    found: dict[str, tuple[str, bool]] = {}
    for life in recipe.models:
        for _, value in options(life.checkpoint) if life.checkpoint is not None else ():
            if isinstance(value, Sym) and value.subject.declared and _empty(value.subject.default):
                found.setdefault(value.text.rpartition(".")[2], (_model(tree), not value.subject.default))
    for name in _adapters(tree):
        found.setdefault(name, (ADAPTER, False))
    return found


def _empty(default: Iterable[object]) -> bool:
    return all(value in (None, "") for value in default)


def _model(tree: ast.Module) -> str:
    """A checkpoint whose layers have the names that the script adapts."""
    targets = {
        part.value
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "target_modules"
        for part in ast.walk(node.value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }
    return next((name for target, name in _BY_TARGET.items() if target in targets), _MODEL)


def _adapters(tree: ast.Module) -> Iterator[str]:
    """Options without a default that ``PeftModel.from_pretrained`` gets as its second argument, and surely: not under an ``if``."""
    empty = {name for name, call in _added(tree) if _constant(call, "default") in (None, "") and _constant(call, "required") is not True}
    for statement in _unconditional(tree.body):
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("PeftModel.from_pretrained") and len(node.args) > 1:
                given = node.args[1]
                if isinstance(given, ast.Attribute) and given.attr in empty:
                    yield given.attr


def _unconditional(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        main = isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)
        if isinstance(statement, (ast.FunctionDef, ast.With)) or (main and isinstance(statement, ast.If)):
            yield from _unconditional(statement.body)
        elif isinstance(statement, (ast.Assign, ast.Expr, ast.AnnAssign)):
            yield statement


def _added(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """The options of argparse, by the name of their value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            flags = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if flags:
                long = next((flag for flag in flags if flag.startswith("--")), flags[0])
                yield str(_constant(node, "dest") or long.lstrip("-").replace("-", "_")), node


def _option(tree: ast.Module, name: str) -> str | None:
    """How an option of argparse, or of a dataclass that HfArgumentParser reads, is written."""
    for known, call in _added(tree):
        flag = next((part.value for part in call.args if isinstance(part, ast.Constant) and str(part.value).startswith("-")), None)
        if known == name:
            return str(flag) if flag is not None else None
    fields = {
        part.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    by_parser = any(isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("HfArgumentParser", "TrlParser")) for node in ast.walk(tree))
    return f"--{name}" if by_parser and name in fields else None


def _constant(call: ast.Call, name: str) -> object:
    """The literal value of a keyword; ``None`` where there is none, an object of its own where it is no literal."""
    value = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    return None if value is None else value.value if isinstance(value, ast.Constant) else value


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a command line over a function; without ``option`` it is given by its place."""

    name: str
    value: str
    option: bool = True


def _parameters(tree: ast.Module, named: dict[str, str]) -> Iterator[_Parameter]:
    """What the functions behind fire, click and typer cannot do without."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name) and node.args[0].id in functions:
            kind = ast.unparse(node.func)
            if kind.endswith(("fire.Fire", "typer.run")) or kind == "Fire":
                yield from _of_function(functions[node.args[0].id], named, places=kind.endswith("run"))
    for function in functions.values():
        for decorator in function.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            kind = ast.unparse(called)
            if isinstance(decorator, ast.Call) and kind in ("click.option", "click.argument", "option", "argument"):
                yield from _of_click(decorator, named)
            elif kind.endswith(".command") and not kind.startswith(("click", "cli")):
                yield from _of_function(function, named, places=True)


def _of_function(function: ast.FunctionDef, named: dict[str, str], *, places: bool) -> Iterator[_Parameter]:
    parameters = function.args.args
    defaults: list[ast.expr | None] = [None] * (len(parameters) - len(function.args.defaults))
    for parameter, default in [*zip(parameters, [*defaults, *function.args.defaults], strict=True), *_keyword_only(function)]:
        hint = ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
        empty = isinstance(default, ast.Constant) and default.value in (None, "")
        if (default is None and "Option" not in hint) or (empty and parameter.arg in named):
            yield _Parameter(parameter.arg, _value(parameter.arg, hint, named), option=not places or default is not None)


def _keyword_only(function: ast.FunctionDef) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    yield from zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)


def _of_click(decorator: ast.Call, named: dict[str, str]) -> Iterator[_Parameter]:
    flags = [part.value for part in decorator.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    if not flags:
        return
    option = ast.unparse(decorator.func).endswith("option")
    long = next((flag for flag in flags if flag.startswith("--")), flags[0]).lstrip("-")
    if option and _constant(decorator, "required") is not True:
        return
    kind = next((keyword.value for keyword in decorator.keywords if keyword.arg == "type"), None)
    yield _Parameter(long, _value(long.replace("-", "_"), ast.unparse(kind) if kind is not None else "", named), option)


def _value(name: str, hint: str, named: dict[str, str]) -> str:
    """A value by what the recipe knows, by the type, by the name."""
    if name in named:
        return named[name]
    if hint in _TYPES:
        return _TYPES[hint]
    return next((value for word, value in _WORDS if word in name), "value")
