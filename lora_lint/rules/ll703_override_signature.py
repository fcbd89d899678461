"""LL703: a method of a trainer is overridden with a signature that the library's calls do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from lora_lint.api.judge import judge
from lora_lint.api.store import LIBRARIES
from lora_lint.api.world import Definition, Signature, World
from lora_lint.findings import Edit, Finding, Fix, Severity
from lora_lint.recipe.conditions import ALWAYS, escape
from lora_lint.recipe.events import Site
from lora_lint.recipe.values import Cls, Func
from lora_lint.rule import Context
from lora_lint.rules import _drift

# What each training step calls; the others are called on some ways only.
_EACH_STEP = frozenset(("compute_loss", "training_step", "get_batch_samples", "log", "_maybe_log_save_evaluate", "_get_train_sampler"))


@dataclass(frozen=True)
class _Taken:
    """What an override takes besides ``self``."""

    positional: tuple[str, ...]
    required: tuple[str, ...]
    keywords: frozenset[str]
    star: bool
    double_star: bool


def check(ctx: Context) -> Iterator[Finding | None]:
    """Hold each override against the calls that the library makes of it."""
    for cls in ctx.recipe.classes:
        base = cls.library_base()
        library = base.partition(".")[0]
        if library not in LIBRARIES or cls.module.source is not ctx.source or (_drift.patched(ctx.recipe) and not ctx.target.known(library)):
            continue
        for func in cls.slots.values():
            if isinstance(func, Func) and isinstance(func.node, cst.FunctionDef) and not func.name.startswith("__") and not func.node.decorators:
                yield _override(ctx, cls, base, func, func.node)


def _override(ctx: Context, cls: Cls, base: str, func: Func, node: cst.FunctionDef) -> Finding | None:
    taken = _taken(node)
    ruling = judge(base.partition(".")[0], lambda world: _unfit(world, base, func.name, taken) is not None, ctx.target)
    if ruling is None:
        return None
    missing = _unfit(ruling.failing[-1], base, func.name, taken)
    assert missing is not None
    leaf = base.rpartition(".")[2]
    return ctx.finding(
        Site(node.name, node, ctx.source),
        f"{leaf} calls `{func.name}` with {missing.said}, which this override does not take",
        case=escape(ALWAYS, []),
        versions=ruling.verdict,
        failure=f"TypeError: {cls.name}.{func.name}() {missing.failure}",
        severity=Severity.ERROR if func.name in _EACH_STEP else Severity.NOTE,
        advice=f"add {missing.add} to its parameters",
        fix=_fix(ctx, node, missing),
    )


@dataclass(frozen=True)
class _Missing:
    said: str
    failure: str
    add: str


def _taken(node: cst.FunctionDef) -> _Taken:
    params = node.params
    positional = [*params.posonly_params, *params.params][1:]
    return _Taken(
        tuple(p.name.value for p in positional),
        tuple(p.name.value for p in positional if p.default is None),
        frozenset(p.name.value for p in (*params.params, *params.kwonly_params)),
        isinstance(params.star_arg, cst.Param),
        params.star_kwarg is not None,
    )


def _unfit(world: World, base: str, method: str, taken: _Taken) -> _Missing | None:
    """The first call of the library that an override does not take."""
    found, rest = world.path(base)
    if not isinstance(found, Definition) or rest or not found.is_class:
        return None
    for count, _, names, _ in world.shapes(found, method) or ():
        unknown = [name for name in names if name not in taken.keywords and not taken.double_star]
        if unknown:
            listed = ", ".join(f"`{name}`" for name in unknown)
            return _Missing(f"the keyword {listed}", f"got an unexpected keyword argument '{unknown[0]}'", ", ".join(f"{n}=None" for n in unknown))
        if count > len(taken.positional) and not taken.star:
            room = len(taken.positional) + 1
            own = world.member(found, method)
            names_there = [name for name, _, _ in Signature.parse(own[1]["s"]).positional][1:] if isinstance(own, tuple) else []
            more = names_there[len(taken.positional) : count] or ["*args"]
            text = ", ".join(name if name.startswith("*") else f"{name}=None" for name in more)
            return _Missing(f"{count} positional arguments", f"takes {room} positional arguments but {count + 1} were given", text)
    return None


def _fix(ctx: Context, node: cst.FunctionDef, missing: _Missing) -> Fix | None:
    """Add the parameters behind the last one."""
    params = node.params
    closed = params.star_kwarg is None and not isinstance(params.star_arg, cst.Param) and not params.kwonly_params and params.params
    if not closed or missing.add.startswith("*"):
        return None
    edit: Edit | None = ctx.editor.add_parameter(node, missing.add)
    return ctx.fix(f"Add {missing.add}", edit)
