"""LL409: the result of merge_and_unload() is dropped, and the PeftModel that is left is saved."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Event
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each merge whose result is lost whether the same PeftModel is saved afterwards."""
    for life in q.models(ctx.recipe):
        for merge in life.all("merged"):
            if not merge.dropped or merge.method != "merge_and_unload" or not merge.peft:
                continue
            for save in life.all("saved", after=merge.order):
                happens = q.possible(merge.when, save.when)
                if happens is None or not save.peft or save.tuner or save.explicit:
                    continue
                again = q.conditions(life.all("wrapped", "adapter_loaded", "merged", "surgery", "escaped", before=save.order, after=merge.order))
                yield ctx.finding(
                    merge.site,
                    "The merged model that merge_and_unload() returns is dropped: the PeftModel that is saved afterwards has no adapter left, "
                    "and its file holds no tensor",
                    case=escape(happens, again),
                    versions=F("dropped-merge-saves-nothing"),
                    flow=[(merge.site, "the adapters are merged into the base and taken out"), (save.site, "the emptied PeftModel is saved")],
                    advice="assign the result, and save that",
                    fix=_fix(ctx, merge),
                )
                break


def _fix(ctx: Context, merge: Event) -> Fix | None:
    node = merge.site.node
    if not ctx.here(merge.site) or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    receiver = ctx.code(node.func.value)
    if not all(part.isidentifier() for part in receiver.split(".")):
        return None
    return ctx.fix("Keep the merged model", ctx.editor.replace(node, f"{receiver} = {ctx.code(node)}"))
