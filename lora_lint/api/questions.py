"""What a recipe asks of the history: each import, name, keyword and override, with the question whether it fails on a release.

Places that are made for several releases ask nothing: what stands in ``try`` with a handler for what a missing name raises, under a test of the
version or the signature, or for type checkers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst

from lora_lint.api import moves
from lora_lint.api.judge import Question
from lora_lint.api.store import LIBRARIES, store
from lora_lint.api.world import Definition, Signature, World
from lora_lint.recipe.conditions import Condition
from lora_lint.recipe.events import Import, LibraryCall, Site
from lora_lint.recipe.machine import Recipe
from lora_lint.recipe.queries import conjunction
from lora_lint.recipe.values import ABSENT, Cls, Func, options

Known = Callable[[str], bool]
"""Whether the releases of a library are known."""

_VERSION_TEST = re.compile(r"\bversion\b|_version|version_|hasattr|signature|_greater|_less|getattr", re.IGNORECASE)
_TRAINING = re.compile(r"(Trainer|Config|Arguments)(\.\w+)?$")
# Any class may stand behind them, with methods of its own.
_ANY_MODEL = ("transformers.PreTrainedModel.", "peft.PeftModel.")


def asks_version(when: Condition) -> bool:
    """Whether a place is reached only by a test that may tell releases apart."""
    return any(_VERSION_TEST.search(literal.subject.text) for clause in when for literal in clause)


def patched(recipe: Recipe) -> bool:
    """Whether unsloth is imported: it renames and moves keywords of trainers while the script runs, and pins older releases."""
    return any(one.name.partition(".")[0] == "unsloth" for one in recipe.imports)


# ---------------------------------------------------------------- imports and names
def imports(recipe: Recipe, known: Known) -> Iterator[tuple[Import, Question]]:
    """The imports of the libraries, with the question whether they fail."""
    skip = patched(recipe)
    for one in recipe.imports:
        library = one.name.partition(".")[0]
        if library in LIBRARIES and not one.guarded and not asks_version(one.when) and (not skip or known(library)):
            yield one, _missing(one)


def _missing(one: Import) -> Question:
    def question(world: World) -> bool | None:
        if not store(one.module.partition(".")[0]).module(one.module):
            return None  # a module that no release has is one that was not read: tests, scripts
        if one.name == one.module:
            return world.path(one.name)[0] is None
        if not world.has_module(one.module):
            return True if world.path(one.module)[0] is None else None
        return world.resolve(one.module, one.name.rpartition(".")[2]) is None

    return question


def calls(recipe: Recipe, known: Known) -> Iterator[tuple[str, LibraryCall]]:
    """The calls that can be judged, each under the name of what it calls; a constructor under its class."""
    skip = patched(recipe)
    for call in recipe.calls:
        library = call.name.partition(".")[0]
        if library not in LIBRARIES or call.guarded or asks_version(call.when) or (skip and not known(library)):
            continue
        name = call.name.removesuffix(".__init__")
        if not (skip and _TRAINING.search(name)):
            yield name, call


def names(recipe: Recipe, known: Known) -> Iterator[tuple[str, LibraryCall, Question]]:
    """The names of modules and the methods of classes that are called over a dot, with the question whether they are missing."""
    for function, call in calls(recipe, known):
        node = call.site.node
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and not function.startswith(_ANY_MODEL):
            yield function, call, _absent(function)


def _absent(function: str) -> Question:
    def question(world: World) -> bool | None:
        found, rest = world.path(function)
        if found is None:
            return True
        if not rest or not isinstance(found, Definition):
            return None if rest else False
        there = world.exists(function)
        return None if there is None else not there

    return question


# ---------------------------------------------------------------- keywords
def keywords(recipe: Recipe, call: LibraryCall) -> Iterator[tuple[str, Site, Condition]]:
    """The keywords of a call that its library gets, each with its place and the condition under which it is given.

    A class of the project that has an ``__init__`` of its own hands on what it likes: its own call of ``super().__init__`` is judged instead.
    """
    own: set[str] = set()
    if call.through is not None:
        if call.through.lookup("__init__") is not None:
            return
        own = set(call.through.fields)
    for keyword, place in call.places.items():
        if keyword in own or keyword == "**":
            continue
        for condition, value in options(call.keywords[keyword]):
            if value is not ABSENT:
                when = conjunction(call.when, condition)
                if not asks_version(when) and not place.guarded:
                    yield keyword, place if place.node is not call.site.node else _given(recipe, call, keyword), when
                break


def _given(recipe: Recipe, call: LibraryCall, keyword: str) -> Site:
    """Where a keyword was written that came through ``**kwargs`` of a class of the project."""
    base = call.name.removesuffix(".__init__")
    return next((c.places[keyword] for c in recipe.calls if c.through is not None and c.name == base and keyword in c.places), call.site)


def refuses(function: str, keyword: str) -> Question:
    """Whether a callable refuses a keyword.

    One that hands keywords on to what it chooses when it runs is judged by the reviewed rows alone, since it takes the settings of any model, too.
    """

    def question(world: World) -> bool | None:
        accepted = world.accepted(function)
        if accepted is None or keyword in accepted.names:
            return None if accepted is None else False
        if accepted.swallowed:
            return None
        if not accepted.open:
            return True
        row = moves.listed("keyword", function, keyword, world)
        return True if row is not None and keyword not in store("transformers").settings else None

    return question


def swallows(function: str, keyword: str) -> Question:
    """Whether a callable takes a keyword that does nothing."""

    def question(world: World) -> bool | None:
        accepted = world.accepted(function)
        if accepted is None:
            return None
        if keyword in accepted.names:
            return False
        return True if accepted.swallowed or (accepted.open and moves.listed("ignored", function, keyword, world)) else None

    return question


# ---------------------------------------------------------------- overrides
@dataclass(frozen=True)
class Override:
    """A method of a class of the project, over a class of a library: what it takes besides ``self``."""

    cls: Cls
    base: str
    name: str
    node: cst.FunctionDef
    positional: tuple[str, ...]
    keywords: frozenset[str]
    star: bool
    double_star: bool


@dataclass(frozen=True)
class Unfit:
    """A call of the library that an override does not take: in words, as the error says it, and the parameters that would take it."""

    said: str
    failure: str
    add: str


def overrides(recipe: Recipe, known: Known) -> Iterator[tuple[Override, Question]]:
    """The overrides in the file, with the question whether the library calls them with more than they take."""
    for cls in recipe.classes:
        base = cls.library_base()
        library = base.partition(".")[0]
        if library not in LIBRARIES or cls.module.source is not recipe.source or (patched(recipe) and not known(library)):
            continue
        for func in cls.slots.values():
            if isinstance(func, Func) and isinstance(func.node, cst.FunctionDef) and not func.name.startswith("__") and not func.node.decorators:
                one = _override(cls, base, func.name, func.node)
                yield one, lambda world, one=one: unfit(world, one) is not None  # type: ignore[misc]


def _override(cls: Cls, base: str, name: str, node: cst.FunctionDef) -> Override:
    params = node.params
    return Override(
        cls,
        base,
        name,
        node,
        tuple(p.name.value for p in [*params.posonly_params, *params.params][1:]),
        frozenset(p.name.value for p in (*params.params, *params.kwonly_params)),
        isinstance(params.star_arg, cst.Param),
        params.star_kwarg is not None,
    )


def unfit(world: World, one: Override) -> Unfit | None:
    """The first call of the library that an override does not take."""
    found, rest = world.path(one.base)
    if not isinstance(found, Definition) or rest or not found.is_class:
        return None
    for count, _, given, _ in world.shapes(found, one.name) or ():
        unknown = [name for name in given if name not in one.keywords and not one.double_star]
        if unknown:
            listed = ", ".join(f"`{name}`" for name in unknown)
            return Unfit(f"the keyword {listed}", f"got an unexpected keyword argument '{unknown[0]}'", ", ".join(f"{name}=None" for name in unknown))
        if count > len(one.positional) and not one.star:
            theirs = world.member(found, one.name)
            order = [name for name, _, _ in Signature.parse(theirs[1]["s"]).positional][1:] if isinstance(theirs, tuple) else []
            more = order[len(one.positional) : count] or ["*args"]
            text = ", ".join(name if name.startswith("*") else f"{name}=None" for name in more)
            takes = f"takes {len(one.positional) + 1} positional arguments but {count + 1} were given"
            return Unfit(f"{count} positional arguments", takes, text)
    return None
