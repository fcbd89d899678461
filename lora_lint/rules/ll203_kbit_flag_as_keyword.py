"""LL203: load_in_4bit / load_in_8bit as a keyword of from_pretrained."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import BadKeyword
from lora_lint.recipe.values import ABSENT, NONE, options
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",), ("keywords",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Report each such keyword that reaches a loader, for the releases that refuse it."""
    for bad in ctx.recipe.keywords:
        config = bad.others.get("quantization_config", ABSENT)
        removed, twice = F("kbit-keyword-removed"), F("kbit-keyword-beside-config")
        given = any(v is not ABSENT and v is not NONE for _, v in options(config))
        on = not (q.is_true(bad.value) is False and type(bad.value).__name__ == "Const")
        versions = removed | twice if given and on else removed
        failure = removed.fact.message.format(cls="…ForCausalLM", keyword=bad.keyword)
        if given and on and ctx.verdict(removed).level.value == "none":
            failure = twice.fact.message
        yield ctx.finding(
            bad.site,
            f"`{bad.keyword}` is "
            + ("given beside quantization_config" if given and on else "no keyword of from_pretrained any more")
            + ": loading fails",
            case=escape(bad.when, []),
            versions=versions,
            failure=failure,
            flow=[(bad.site, f"{bad.keyword} is set"), (bad.call, "it reaches the loader")]
            if bad.site.node is not bad.call.node
            else [(bad.call, "the loader")],
            advice="pass quantization_config=BitsAndBytesConfig(…)",
            fix=_fix(ctx, bad),
        )


def _fix(ctx: Context, bad: BadKeyword) -> Fix | None:
    """Replace the keywords by one configuration object, with its import."""
    call = bad.call.node
    if not ctx.here(bad.site) or not ctx.here(bad.call) or not isinstance(call, cst.Call) or bad.call.stmt is None:
        return None
    named = {a.keyword.value: a for a in call.args if a.keyword is not None}
    if bad.keyword not in named or any(a.star == "**" for a in call.args):
        return _entry_fix(ctx, bad) if bad.holder is not None else None
    if "quantization_config" in named:
        if {k for k in named if k.startswith("load_in_")} == {bad.keyword}:
            return ctx.fix(f"Remove {bad.keyword}", ctx.editor.remove_argument(call, named[bad.keyword]))
        return None
    moved = [k for k in named if k.startswith(("load_in_4bit", "load_in_8bit", "bnb_4bit_", "llm_int8_"))]
    if bad.keyword != moved[0]:
        return None
    values = {k: ctx.code(named[k].value) for k in moved}
    if all(values[k] == "False" for k in moved if k.startswith("load_in_")):
        return ctx.fix(f"Remove {', '.join(moved)}", *[ctx.editor.remove_argument(call, named[k]) for k in moved]) if len(moved) == 1 else None
    name, imports = ctx.editor.import_name("transformers", "BitsAndBytesConfig", bad.call.stmt)
    kept = [k for k in moved if values[k] != "False"]
    if any(not k.startswith("load_in_") or values[k] != "True" for k in kept if k.startswith("load_in_")):
        return None  # a flag that may be False needs a decision: no configuration at all, or one
    text = f"quantization_config={name}({', '.join(f'{k}={values[k]}' for k in kept)})"
    first, *others = moved
    edits = [ctx.editor.replace(named[first], text)]
    edits += [ctx.editor.remove_argument(call, named[k]) for k in others]
    return ctx.fix("Pass a BitsAndBytesConfig", *edits, imports)


def _entry_fix(ctx: Context, bad: BadKeyword) -> Fix | None:
    """Replace ``kwargs["load_in_4bit"] = True`` by the entry that the loader takes."""
    node, stmt = bad.site.node, bad.site.stmt
    if not isinstance(node, cst.Subscript) or not isinstance(stmt, cst.SimpleStatementLine) or not q.is_true(bad.value) or len(stmt.body) != 1:
        return None
    small = stmt.body[0]
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or small.targets[0].target is not node:
        return None
    if any(k.startswith(("bnb_4bit", "llm_int8", "quantization_config")) for k in bad.others):
        return None
    name, imports = ctx.editor.import_name("transformers", "BitsAndBytesConfig", stmt)
    return ctx.fix(
        "Pass a BitsAndBytesConfig",
        ctx.editor.replace(small, f'{ctx.code(node.value)}["quantization_config"] = {name}({bad.keyword}=True)'),
        imports,
    )
