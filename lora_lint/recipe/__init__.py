"""The recipe: what the abstract interpreter understood of a script, and how it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lora_lint.project import Project
    from lora_lint.recipe.machine import Recipe
    from lora_lint.source import Source


def build(source: Source, project: Project | None = None) -> Recipe:
    """Interpret a script.

    Raises ``SourceError`` where the text cannot be parsed; beyond that it is total: a step budget bounds every input.
    """
    from lora_lint.recipe.interpreter import Interpreter

    interpreter = Interpreter(source, project)
    interpreter.run()
    return interpreter.recipe


def render_text(recipe: Recipe) -> str:
    """The recipe for people: each model with its events in order, the optimizers, what is backpropagated."""
    from lora_lint.recipe.show import text

    return text(recipe)


def render_mermaid(recipe: Recipe) -> str:
    """The recipe as a Mermaid flowchart."""
    from lora_lint.recipe.draw import mermaid

    return mermaid(recipe)


def render_html(recipe: Recipe) -> str:
    """The recipe as a page of its own."""
    from lora_lint.recipe.draw import html

    return html(recipe)


def to_json(recipe: Recipe) -> dict[str, Any]:
    """The recipe as plain data."""
    from lora_lint.recipe.show import data

    return data(recipe)
