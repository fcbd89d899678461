"""LL513: assistant_only_loss with a chat template of the script's that does not mark what the assistant says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lora_lint.findings import Finding
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition
from lora_lint.recipe.events import Data, Event, Site
from lora_lint.recipe.values import FALSE, Const, Obj, options
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)
GENERATION = re.compile(r"\{%[-+]?\s*generation\b")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each SFTTrainer that learns the assistant's words alone for its template."""
    places: dict[int, list[tuple[Condition, tuple[Site, Event]]]] = {}
    for life in q.models(ctx.recipe):
        for run in q.trained(life):
            for site, when in _unmarked(run):
                places.setdefault(id(run.trainer), []).append((when, (site, run)))
    fact = F("sft-assistant-mask-needs-generation")
    for candidates in places.values():
        best = q.clearest(candidates)
        if best is not None:
            case, (site, run) = best
            yield ctx.finding(
                site,
                "The chat template has no {% generation %} block, so that no token is known to be the assistant's",
                case=case,
                versions=fact,
                failure=fact.fact.message,
                flow=[(site, "only the assistant's tokens get labels"), (run.site, "training starts")],
                advice="put {% generation %} … {% endgeneration %} around what the assistant says, or use data with prompt and completion",
            )


def _unmarked(run: Event) -> Iterator[tuple[Site, Condition]]:
    """Where a run asks for the assistant's tokens alone, with a template of the script's that does not mark them; and when."""
    trainer, data = run.data.get("trainer"), run.data.get("data")
    if not isinstance(trainer, Obj) or not isinstance(data, Data) or not trainer.name.endswith("SFTTrainer") or trainer.info.get("inst") is not None:
        return
    for condition, args in options(trainer.slots["args"]):
        if not isinstance(args, Obj) or not q.is_true(args.slots.get("assistant_only_loss", FALSE)) or args.site is None:
            continue
        for inner, template in options(data.template):
            when = q.possible(run.when, condition, inner)
            if when is not None and isinstance(template, Const) and isinstance(template.value, str) and not GENERATION.search(template.value):
                yield args.info["sites"].get("assistant_only_loss", args.site), when
