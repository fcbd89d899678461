"""What the rules on API drift share: which calls are judged, under what name, and how a keyword is renamed, moved or left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from lora_lint.api import moves, questions
from lora_lint.api.judge import Ruling, judge, oldest
from lora_lint.api.moves import Move
from lora_lint.api.world import Definition, World
from lora_lint.findings import Edit, Finding, Fix, Severity
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import LibraryCall, Site
from lora_lint.recipe.values import Const, Obj
from lora_lint.rule import Context


def unknown_keywords(ctx: Context, mine: Callable[[World, str], bool]) -> Iterator[Finding | None]:
    """A finding for each keyword that a callable refuses on the target, for the callables that a rule takes as its own."""
    flagged = {bad.site.node for bad in ctx.recipe.keywords}
    moved: set[int] = set()
    for function, call in questions.calls(ctx.recipe, ctx.target.known):
        library = function.partition(".")[0]
        for keyword, place, when in questions.keywords(ctx.recipe, call):
            if place.node in flagged:
                continue
            ruling = judge(library, questions.refuses(function, keyword), ctx.target)
            if ruling is None or not mine(ruling.failing[-1], function):
                continue
            judged = (*ruling.failing, *ruling.passing)
            move = moves.of_keyword(function, keyword, ruling.last_good, judged)
            pinned = ctx.target.known(ruling.library) or moves.of_keyword(function, keyword, ruling.last_good, (*judged, oldest(library))) == move
            leaf = function.rpartition(".")[2]
            what = f"{leaf}.__init__()" if leaf[:1].isupper() else f"{leaf}()"
            verb = _verb(ruling)
            fix = keyword_fix(ctx, call, keyword, place, move, safe=pinned) if not ruling.passing or (move is not None and move.same) else None
            if fix is not None and move is not None and move.into and id(call.site.node) in moved and _config_of(call) is None:
                fix = None  # the first one makes the configuration, the next pass puts the others into it
            if move is not None and move.into:
                moved.add(id(call.site.node))
            yield ctx.finding(
                place,
                f"`{keyword}` {verb} of {leaf}",
                case=escape(when, []),
                versions=ruling.verdict,
                failure=f"TypeError: {what} got an unexpected keyword argument '{keyword}'",
                advice=advice(move, keyword),
                fix=fix,
            )


def is_adapter_config(world: World, function: str) -> bool:
    """Whether a callable is the configuration class of a kind of adapter."""
    found, rest = world.path(function)
    return isinstance(found, Definition) and found.is_class and not rest and world.derives(found, "PeftConfig")


def _verb(ruling: Ruling) -> str:
    if not ruling.ever:
        return "is no keyword"
    return "is no longer a keyword" if ruling.since is not None else "is not a keyword on every release"


def advice(move: Move | None, old: str) -> str:
    """What to write instead, in words."""
    if move is None:
        return f"remove `{old}`, or pin the release that takes it"
    if move.guess:
        return f"did you mean `{move.new.rpartition('.')[2]}`?"
    if move.says:
        return move.says
    if move.into:
        return f"give `{move.new}` to {move.into.rpartition('.')[2]}, which is the trainer's args"
    return f"use `{move.new}`" if move.new else "leave it out"


# ---------------------------------------------------------------- fixes
def keyword_fix(ctx: Context, call: LibraryCall, keyword: str, place: Site, move: Move | None, *, safe: bool = True) -> Fix | None:
    """Rename a keyword, move it into the configuration that is built in the same file, or leave it out.

    ``safe``: what it becomes is right on every release that the script may meet.
    """
    node = place.node
    if move is None or not ctx.here(place) or (keyword in call.holders and isinstance(node, cst.Arg) and node.keyword is None):
        return None
    if move.drop:
        gone = _remove(ctx, call, node)
        return ctx.fix(f"Remove {keyword}", gone, safe=safe and move.drop == "safe")
    if move.into:
        return _into(ctx, call, keyword, node, move, safe)
    if not move.new or not (move.same or move.guess) or move.new in call.keywords:
        return None
    edits: list[Edit | None] = [_rename(ctx, node, move.new)]
    if move.values:
        value = call.keywords[keyword]
        new = move.values.get(repr(value.value)) if isinstance(value, Const) else None
        if isinstance(value, Const) and value.value is False and new is None:
            return ctx.fix(f"Remove {keyword}", _remove(ctx, call, node), safe=safe)
        if new is None or not isinstance(node, (cst.Arg, cst.DictElement)):
            return None
        edits.append(ctx.editor.replace(node.value, new))
    return ctx.fix(f"Rename {keyword} to {move.new}", *edits, safe=safe and not move.guess)


def _rename(ctx: Context, node: cst.CSTNode, new: str) -> Edit | None:
    if isinstance(node, cst.Arg) and node.keyword is not None:
        return ctx.editor.replace(node.keyword, new)
    if isinstance(node, cst.DictElement) and isinstance(node.key, cst.SimpleString):
        quote = node.key.quote
        return ctx.editor.replace(node.key, f"{quote}{new}{quote}")
    return None


def _remove(ctx: Context, call: LibraryCall, node: cst.CSTNode) -> Edit | None:
    if isinstance(node, cst.Arg) and isinstance(call.site.node, cst.Call) and any(node is arg for arg in call.site.node.args):
        return ctx.editor.remove_argument(call.site.node, node)
    return None


def _config_of(call: LibraryCall) -> Obj | None:
    """The configuration that a trainer gets, where the recipe knows it."""
    value = call.keywords.get("args")
    return value if isinstance(value, Obj) and value.site is not None else None


def _into(ctx: Context, call: LibraryCall, keyword: str, node: cst.CSTNode, move: Move, safe: bool) -> Fix | None:
    """Give a keyword of a trainer to its configuration instead."""
    gone = _remove(ctx, call, node)
    trainer = call.site.node
    if gone is None or not isinstance(node, cst.Arg) or not isinstance(trainer, cst.Call):
        return None
    leaf = move.into.rpartition(".")[2]
    config = _config_of(call)
    text = f"{move.new}={ctx.code(node.value)}"
    if "args" not in call.keywords and call.positional is not None and call.positional < 2:
        name, imports = ctx.editor.import_name(move.into.rpartition(".")[0], leaf, trainer)
        added = ctx.editor.replace(node, f"args={name}({text})" + ("," if isinstance(node.comma, cst.Comma) else ""))
        return ctx.fix(f"Give {keyword} to {leaf}", added, *imports, safe=safe)
    if config is None or config.site is None or config.name.rpartition(".")[2] != leaf or not ctx.here(config.site):
        return None
    made = config.site.node
    if not isinstance(made, cst.Call) or move.new in config.slots or not _movable(ctx, node.value, made):
        return None
    return ctx.fix(f"Move {keyword} to {leaf}", gone, ctx.editor.add_keyword(made, text), safe=safe)


def _movable(ctx: Context, value: cst.BaseExpression, to: cst.CSTNode) -> bool:
    """Whether an expression means the same at an earlier place of the file: a literal, or a name that is bound before and nowhere after."""
    if isinstance(value, (cst.SimpleString, cst.Integer, cst.Float)) or (isinstance(value, cst.Name) and value.value in ("True", "False", "None")):
        return True
    root = value
    while isinstance(root, cst.Attribute):
        root = root.value
    return isinstance(root, cst.Name) and ctx.editor.settled(root.value, to)


def severity(ruling: Ruling, move: Move | None) -> Severity:
    """A name that no release ever had may be one of a release to come, unless it is nearly one that there is."""
    return Severity.ERROR if ruling.ever or (move is not None and move.guess) else Severity.NOTE
