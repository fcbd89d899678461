"""LL507: a chat template's text, which begins with a BOS, goes to a tokenizer that adds another one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Family, Tokens
from lora_lint.recipe.values import ABSENT, TRUE, Const, Obj, Value, options, walk
from lora_lint.rule import Context

NEEDS = (("library",),)
BOS = ("bos_token", "<s>", "<|begin_of_text|>", "<bos>")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each call of a tokenizer whether its text comes out of a chat template."""
    seen: set[int] = set()
    for tokens in ctx.recipe.tokens:
        chat = next((v for v in walk(tokens.text) if isinstance(v, Obj) and v.kind == "text" and "chat" in v.info), None)
        known = tokens.tokenizer.info.get("family")
        if (
            chat is None
            or not isinstance(known, Family)
            or id(tokens.site.node) in seen
            or not _adds(tokens, known)
            or not _writes(chat.info["template"])
        ):
            continue
        seen.add(id(tokens.site.node))
        sure = known.bos is True
        yield ctx.finding(
            tokens.site,
            f"The text that apply_chat_template() returns has its BOS already, and the tokenizer {'adds' if sure else 'may add'} another one",
            case=escape(tokens.when, []),
            severity=Severity.WARNING if sure else Severity.NOTE,
            flow=[
                *([(chat.site, "the template writes the BOS")] if chat.site is not None else []),
                (tokens.site, "the tokenizer adds special tokens"),
            ],
            advice="pass add_special_tokens=False, or let apply_chat_template() tokenize",
            fix=_fix(ctx, tokens),
        )


def _adds(tokens: Tokens, known: Family) -> bool:
    """Whether the call may put special tokens around the text, a BOS among them."""
    tokenizer = tokens.tokenizer
    if known.bos is False or tokenizer.name.endswith("Processor") or tokenizer.slots.get("hidden", ABSENT) is not ABSENT:
        return False
    if any(name in tokenizer.slots for name in ("bos_token", "add_bos_token")):
        return False
    return tokens.special is TRUE or (tokens.special is ABSENT and not tokens.open)


def _writes(template: Value) -> bool:
    """Whether a chat template may write a BOS: the checkpoint's own, or one of the script's that speaks of it."""
    return any(v is ABSENT or (isinstance(v, Const) and any(word in str(v.value) for word in BOS)) for _, v in options(template))


def _fix(ctx: Context, tokens: Tokens) -> Fix | None:
    node = tokens.site.node
    if tokens.special is not ABSENT or not ctx.here(tokens.site) or not isinstance(node, cst.Call):
        return None
    return ctx.fix(
        "Add no special tokens", ctx.editor.add_keyword(node, "add_special_tokens=False"), safe=tokens.tokenizer.info["family"].bos is True
    )
