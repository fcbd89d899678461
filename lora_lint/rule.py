"""What a rule gets and how it reports: the recipe, the target, and a builder of findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lora_lint.findings import Applicability, Edit, Finding, Fix, Severity, Step
from lora_lint.recipe.conditions import Case
from lora_lint.versions import ALWAYS, Expr, Level, Verdict, judge

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.edits import Editor
    from lora_lint.recipe.events import Site
    from lora_lint.recipe.machine import Recipe
    from lora_lint.source import Source
    from lora_lint.target import Target

Flow = Sequence[tuple["Site", str]]
Edits = Edit | Sequence[Edit] | None


@dataclass(frozen=True)
class RuleInfo:
    """A rule as the registry knows it, without importing its module."""

    code: str
    name: str
    module: str


class Context:
    """One script under one target, as a rule sees it."""

    def __init__(self, recipe: Recipe, target: Target, info: RuleInfo, shared: dict[str, Editor]) -> None:
        self.recipe = recipe
        self.target = target
        self.info = info
        self._shared = shared

    @property
    def source(self) -> Source:
        return self.recipe.source

    @property
    def editor(self) -> Editor:
        """Edits of the linted file; all rules share one editor, made when the first finding needs it."""
        if "editor" not in self._shared:
            from lora_lint.edits import Editor

            self._shared["editor"] = Editor(self.source)
        return self._shared["editor"]

    def verdict(self, expr: Expr) -> Verdict:
        """What an expression over facts means on the target."""
        return judge(expr, self.target)

    def here(self, site: Site) -> bool:
        """Whether a place lies in the linted file (and not in a module that it imports)."""
        return site.source is self.source or site.source.path == self.source.path

    def finding(
        self,
        site: Site,
        message: str,
        *,
        case: Case | None,
        versions: Expr | Verdict = ALWAYS,
        failure: str | None = None,
        severity: Severity = Severity.ERROR,
        flow: Flow = (),
        advice: str = "",
        fix: Fix | None = None,
    ) -> Finding | None:
        """Build a finding, or ``None`` where the target has none of the failing versions or the case is no certain one.

        ``severity`` is the worst that may be said; a part of the target, or a condition that the defaults do not meet, makes it a warning.
        """
        if case is None or not case.certain:
            return None
        verdict = versions if isinstance(versions, Verdict) else self.verdict(versions)
        if verdict.level is Level.NONE:
            return None
        if not case.by_default or verdict.level is Level.SOME:
            severity = min(severity, Severity.WARNING)
        place = self._place(site, flow)
        if place is None:
            return None
        span = self.source.span(place.node)
        steps: list[Step] = []
        for s, text in flow:
            step = Step(s.source.span(s.node), text, s.source.path)
            if step not in steps:
                steps.append(step)
        return Finding(
            code=self.info.code,
            name=self.info.name,
            severity=severity,
            message=message,
            path=self.source.path,
            span=span,
            failure=failure,
            versions=verdict.text,
            condition=case.text if not case.by_default else "",
            flow=tuple(steps),
            help=advice,
            fix=fix,
            line_text=self.source.line(span.start.line),
        )

    def _place(self, site: Site, flow: Flow) -> Site | None:
        if self.here(site):
            return site
        for call in reversed(site.calls):
            if self.here(call):
                return call
        return next((s for s, _ in reversed(list(flow)) if self.here(s)), None)

    def fix(self, title: str, *edits: Edits, safe: bool = True) -> Fix | None:
        """A fix of several edits; ``None`` where one of them could not be made."""
        from lora_lint.edits import collect

        made = collect(*edits)
        if made is None:
            return None
        return Fix(title, Applicability.SAFE if safe else Applicability.UNSAFE, made)

    def insert(self, site: Site, code: str, *, after: bool = True) -> Edit | None:
        """A statement before or after the one that holds the site; ``None`` where that is not a plain statement of this file."""
        if site.stmt is None or not self.here(site):
            return None
        return self.editor.insert_after(site.stmt, code) if after else self.editor.insert_before(site.stmt, code)

    def code(self, node: cst.CSTNode) -> str:
        """The source text of a node of the linted file."""
        return self.source.module.code_for_node(node)
