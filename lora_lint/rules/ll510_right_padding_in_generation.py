"""LL510: a decoder-only model generates after prompts that are padded on the right."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition
from lora_lint.recipe.events import Event, ModelLife, Tokens
from lora_lint.recipe.values import Const, Seq, Value, options
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)
LONGEST = (True, "longest")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each generation how what it gets was padded."""
    places: dict[int, list[tuple[Condition, tuple[Event, Tokens]]]] = {}
    for life in q.models(ctx.recipe):
        for event in life.all("generate") if _decoder_only(life) else ():
            for tokens in {id(t.tokens): t.tokens for _, t in event.inputs if t.tokens is not None}.values():
                for condition, side in options(tokens.side):
                    when = q.possible(event.when, condition)
                    if when is not None and isinstance(side, Const) and side.value == "right" and _padded(tokens):
                        places.setdefault(id(event.site.node), []).append((when, (event, tokens)))
    for candidates in places.values():
        best = q.clearest(candidates)
        if best is None:
            continue
        case, (event, tokens) = best
        placed = tokens.tokenizer.info.get("side_site") or tokens.tokenizer.site
        yield ctx.finding(
            event.site,
            "The prompts are padded on the right, and a decoder-only model goes on after the padding: what it writes for the shorter ones is wrong",
            case=case,
            versions=F("right-padding-changes-generation"),
            severity=Severity.WARNING,
            flow=[
                *([(placed, "the tokenizer pads on the right")] if placed is not None else []),
                (tokens.site, "the prompts are padded"),
                (event.site, "the model generates"),
            ],
            advice='pad on the left for generation: `tokenizer.padding_side = "left"`',
            fix=_fix(ctx, tokens),
        )


def _decoder_only(life: ModelLife) -> bool:
    return q.is_library(life) and life.cls.endswith(("ForCausalLM", "LMHeadModel"))


def _padded(tokens: Tokens) -> bool:
    """Whether some row is surely padded: to a fixed length, or to the longest of several texts."""
    for _, padding in options(tokens.padding):
        if isinstance(padding, Const) and (padding.value == "max_length" or (padding.value in LONGEST and _several(tokens.text))):
            return True
    return False


def _several(text: Value) -> bool:
    """Whether a value is a list of texts of which there may be more than one, and not the same one again."""
    for _, v in options(text):
        if isinstance(v, Seq) and (v.rest is not None or len({id(i) if not isinstance(i, Const) else i for i in v.items}) > 1):
            return True
    return False


def _fix(ctx: Context, tokens: Tokens) -> Fix | None:
    """Say left where the script says right, or where the tokenizer is loaded."""
    title, placed, made = "Pad on the left", tokens.tokenizer.info.get("side_site"), tokens.tokenizer.site
    if placed is None:
        if made is None or not ctx.here(made) or not isinstance(made.node, cst.Call):
            return None
        return ctx.fix(title, ctx.editor.add_keyword(made.node, 'padding_side="left"'), safe=False)
    if not ctx.here(placed):
        return None
    if isinstance(placed.node, cst.Arg):
        return ctx.fix(title, ctx.editor.replace(placed.node.value, '"left"'), safe=False)
    small = placed.stmt.body[0] if isinstance(placed.stmt, cst.SimpleStatementLine) and len(placed.stmt.body) == 1 else None
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or small.targets[0].target is not placed.node:
        return None
    return ctx.fix(title, ctx.editor.replace(small.value, '"left"'), safe=False)
