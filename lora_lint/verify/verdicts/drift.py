"""Verdicts on LL7xx and LL410: whether the libraries refused a name, a keyword or an override."""

from __future__ import annotations

import re

from lora_lint.findings import Verdict
from lora_lint.verify.verdicts.look import Answer, Look, confirmed_by, verdict_on

_REFUSED = ("ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "RuntimeError")


@verdict_on("LL701")
def _removed(look: Look) -> Answer:
    """An import error, or a missing attribute, on the line of the finding."""
    return _refused(look, passed="the import passed")


@verdict_on("LL702", "LL410")
def _keyword(look: Look) -> Answer:
    """A TypeError on one of the lines of the finding."""
    return _refused(look, passed="the call passed")


@verdict_on("LL703")
def _override(look: Look) -> Answer:
    """A TypeError that names the method."""
    error = look.seen.exception
    named = re.search(r"calls `(\w+)`", look.finding.message)
    if error is not None and error.type == "TypeError" and named is not None and error.says(f"{named[1]}()"):
        return confirmed_by(look, error)
    if look.seen.done:
        return look.absent("one step was done", here=False)
    return look.unreached("a call of this method")


@verdict_on("LL704", "LL705")
def _works(look: Look) -> Answer:
    """What still works, or does nothing, leaves no trace in a step."""
    return Answer(Verdict.NOT_REACHED, "a training step says nothing about it")


def _refused(look: Look, passed: str) -> Answer:
    """Confirmed by an error on the finding's lines that names what it names; refuted where a top-level line was passed on the way to a step."""
    error, finding = look.seen.exception, look.finding
    name = re.search(r"`(?:[\w.]*\.)?(\w+)`", finding.message)
    if error is not None and error.type in _REFUSED and look.hit(error, look.own) and (name is None or error.says(name[1])):
        return confirmed_by(look, error)
    if look.seen.done:
        return look.absent(passed, here=finding.line_text[:1].strip() != "")
    return look.unreached("this line")
