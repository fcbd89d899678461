"""LL412: a field of an adapter configuration gets what a list method returns, which is None."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Site
from lora_lint.recipe.values import NONE
from lora_lint.rule import Context

NEEDS = (("library",),)

METHODS = ("append", "extend", "insert", "remove", "sort", "reverse", "clear", "add", "update", "discard")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each configuration that attaches adapters for fields that are None because of such a call."""
    for life in q.models(ctx.recipe):
        for wrap in life.all("wrapped"):
            for condition, config in q.config_objects(wrap.config):
                happens = q.possible(wrap.when, condition)
                for name, value in config.slots.items():
                    site = config.info["sites"].get(name)
                    method = _method(site)
                    if value is not NONE or site is None or method is None or happens is None:
                        continue
                    yield ctx.finding(
                        site,
                        f"{name} is None: .{method}() changes its list and returns nothing",
                        case=escape(happens, []),
                        severity=Severity.WARNING,
                        flow=[(wrap.site, "adapters are attached with this configuration")],
                        advice="pass a list; and mind that the one on which the method is called has changed",
                    )


def _method(site: Site | None) -> str | None:
    """The method that is called in an argument's place."""
    call = site.node.value if site is not None and isinstance(site.node, cst.Arg) else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.func.attr.value not in METHODS:
        return None
    return call.func.attr.value
