"""LL414: adapter after adapter is merged into one and the same base."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as matchers

from lora_lint.findings import Finding
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Event
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each merge in a loop whether its base was loaded before the loop."""
    for life in q.models(ctx.recipe):
        loaded = q.loaded(life)
        told: set[int] = set()
        for load in life.all("adapter_loaded"):
            loop = load.data.get("loop")
            if loop is None or loaded is None or loaded.data.get("loop") is loop or id(loop) in told or not _same_base(ctx, load, loop):
                continue
            for merge in life.all("merged", after=load.order):
                happens = q.possible(load.when, merge.when)
                if merge.method != "merge_and_unload" or merge.loop is not loop or happens is None:
                    continue
                told.add(id(loop))
                yield ctx.finding(
                    merge.site,
                    "merge_and_unload() changes the base itself: from the second turn on, the adapters of all turns before are in it as well",
                    case=escape(happens, q.conditions(life.all("weights_set", "surgery", "escaped"))),
                    versions=F("repeated-merge-piles-up"),
                    flow=q.story((loaded, "the base is loaded once"), (load, "each turn loads an adapter onto it"), (merge, "and merges it into it")),
                    advice="load the base in each turn, or merge a copy of it",
                )
                break


def _same_base(ctx: Context, load: Event, loop: cst.CSTNode) -> bool:
    """Whether each turn takes the base from one variable, which no turn sets, and there surely is a second turn."""
    call = load.site.node
    if not ctx.here(load.site) or not isinstance(call, cst.Call):
        return False
    given = next((a.value for a in call.args if a.keyword is None or a.keyword.value == "model"), None)
    if not isinstance(given, (cst.Name, cst.Attribute)) or not any(found is call for found in matchers.findall(loop, matchers.Call())):
        return False
    name = ctx.code(given)
    targets = matchers.findall(loop, matchers.AssignTarget() | matchers.AnnAssign() | matchers.NamedExpr() | matchers.For())
    set_here = {ctx.code(part) for t in targets for part in matchers.findall(t.target, matchers.Name() | matchers.Attribute())}  # type: ignore[attr-defined]
    return name not in set_here and not matchers.findall(loop, matchers.Break() | matchers.Return() | matchers.Del())
