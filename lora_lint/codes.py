"""The codes and names of all findings, and the selectors that stand for them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

STEP_FAILED, SYNTAX_ERROR, UNUSED, UNKNOWN, BLANKET = "LL800", "LL900", "LL901", "LL902", "LL903"

# Findings about the real step, the file and its suppressions; they have no module under lora_lint/rules.
META = {
    STEP_FAILED: "step-failed",
    SYNTAX_ERROR: "syntax-error",
    UNUSED: "unused-suppression",
    UNKNOWN: "unknown-suppression",
    BLANKET: "suppression-without-code",
}


def names() -> dict[str, str]:
    """Code to human name, of every rule and of the meta findings, ordered by code."""
    from lora_lint.rules import REGISTRY

    return dict(sorted({**{code: info.name for code, info in REGISTRY.items()}, **META}.items()))


def resolve(text: str) -> str | None:
    """The code for a code or name, in any case; ``None`` if there is none."""
    known = names()
    if text.upper() in known:
        return text.upper()
    return next((code for code, name in known.items() if name == text.lower()), None)


def nearest(text: str) -> str | None:
    """The code or name that ``text`` may have meant."""
    known = names()
    if re.fullmatch(r"LL\d*", text, re.IGNORECASE):
        found = difflib.get_close_matches(text.upper(), list(known), n=1)
    else:
        found = difflib.get_close_matches(text.lower(), list(known.values()), n=1)
    return found[0] if found else None


def select(selectors: Iterable[str]) -> frozenset[str]:
    """The codes that selectors (a code, a name, a prefix such as ``LL1``, ``ALL``) stand for. Raises ``ValueError`` with one clear line."""
    known = names()
    chosen: set[str] = set()
    for selector in selectors:
        if selector.upper() == "ALL":
            matched = set(known)
        elif code := resolve(selector):
            matched = {code}
        elif re.fullmatch(r"LL\d*", selector, re.IGNORECASE):
            matched = {code for code in known if code.startswith(selector.upper())}
        else:
            matched = set()
        if not matched:
            near = nearest(selector)
            hint = f"; did you mean {near!r}?" if near else "; `lora-lint rules` lists them"
            raise ValueError(f"unknown rule {selector!r}{hint}")
        chosen |= matched
    return frozenset(chosen)
