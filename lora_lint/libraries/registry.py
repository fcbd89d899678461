"""How a library's file of summaries declares what its calls do.

A summary is a function from a :class:`~lora_lint.recipe.interpreter.Call` to a value; it is registered under the full name of the function or
class (``peft.get_peft_model``), under a pattern (``transformers.Auto*.from_pretrained``), or under the kind of an object and a method name
(``("model", "merge_and_unload")``). Names are looked up as written, then without the private modules in between, so that
``peft.mapping.get_peft_model`` finds ``peft.get_peft_model``.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.interpreter import Call, Interpreter
    from lora_lint.recipe.values import Value

    Handler = Callable[[Call], Value]
    AttributeHandler = Callable[[Interpreter, Value, str, cst.CSTNode], Value]

FUNCTIONS: dict[str, Handler] = {}
PATTERNS: dict[str, list[tuple[re.Pattern[str], Handler]]] = {}
METHODS: dict[tuple[str, str], Handler] = {}
ATTRIBUTES: dict[tuple[str, str], AttributeHandler] = {}
HARMLESS: set[str] = set()
WORDS: dict[str, set[str]] = {}
HOOKS: dict[str, tuple[str, tuple[str, ...]]] = {}
_found: dict[str, Handler | None] = {}


def function(*names: str) -> Callable[[Handler], Handler]:
    """Register a summary for functions and classes by full name; a name with ``*`` is a pattern within its library."""

    def register(handler: Handler) -> Handler:
        for name in names:
            if "*" in name:
                root = name.partition(".")[0]
                PATTERNS.setdefault(root, []).append((re.compile(fnmatch.translate(name)), handler))
            else:
                FUNCTIONS[name] = handler
        return handler

    return register


def method(kind: str, *names: str) -> Callable[[Handler], Handler]:
    """Register a summary for methods of a kind of object (``model``, ``tensor``, ``tokenizer`` …)."""

    def register(handler: Handler) -> Handler:
        for name in names:
            METHODS[kind, name] = handler
        return handler

    return register


def attribute(kind: str, *names: str) -> Callable[[AttributeHandler], AttributeHandler]:
    """Register what attributes of a kind of object are."""

    def register(handler: AttributeHandler) -> AttributeHandler:
        for name in names:
            ATTRIBUTES[kind, name] = handler
        return handler

    return register


def harmless(*names: str) -> None:
    """Declare functions (or whole libraries) that do nothing to a model that is passed to them."""
    HARMLESS.update(names)


def recorded(kind: str, *words: str) -> None:
    """Declare the words without one of which nothing of a kind is recorded: an event's kind, or the name of one of the recipe's lists.

    A word is a name, an attribute, a keyword, or a text that looks like a name. ``"Peft*"`` stands for all that have this in them, ``"def forward"``
    for a definition, ``"import peft"`` for an import, ``"~bnb"`` for a text anywhere in the file, ``"a & b"`` for both. Triage goes by them (see
    ``lora_lint.triage``): what is missing here is never found.
    """
    WORDS.setdefault(kind, set()).update(words)


def recorded_in(kind: str, method: str, not_data: tuple[str, ...], *words: str) -> None:
    """Declare that a kind is recorded by a method of a class, where one of the words stands in what that method may execute.

    Methods whose first parameter's name has one of ``not_data`` in it record nothing.
    """
    HOOKS[kind] = (method, not_data)
    recorded(kind, *words)


def lookup(name: str) -> Handler | None:
    """The summary for a full name, or ``None``."""
    if name in _found:
        return _found[name]
    parts = name.split(".")
    candidates = [name]
    if len(parts) > 2:
        if parts[-2][:1].isupper() and len(parts) > 3:
            candidates.append(f"{parts[0]}.{parts[-2]}.{parts[-1]}")
        candidates.append(f"{parts[0]}.{parts[-1]}")
    handler = next((FUNCTIONS[c] for c in candidates if c in FUNCTIONS), None)
    if handler is None:
        for c in candidates:
            handler = next((h for p, h in PATTERNS.get(parts[0], ()) if p.match(c)), None)
            if handler is not None:
                break
    _found[name] = handler
    return handler


def is_harmless(name: str) -> bool:
    """Whether a call of this name leaves the models in its arguments alone."""
    parts = name.split(".")
    return parts[0] in HARMLESS or name in HARMLESS or f"{parts[0]}.{parts[-1]}" in HARMLESS
