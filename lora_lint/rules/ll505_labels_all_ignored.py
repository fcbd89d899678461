"""LL505: no token has a label: whole rows are masked, or the batch has no labels at all."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.findings import Finding, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition, escape
from lora_lint.recipe.events import Data, Event, LabelWrite, ModelLife, Site
from lora_lint.recipe.values import ABSENT, NONE, REST, Const, Dict, Ids, Obj, Slice, Value, options
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)
MANY = 16  # more rows than a batch on one device usually has
LABELS = ("labels", "label", "label_ids")
COLLATORS = ("DataCollatorWithPadding", "DataCollatorForSeq2Seq", "DefaultDataCollator", "default_data_collator")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each write over whole rows of labels, then each training run whether its batches have labels."""
    seen: set[int] = set()
    for write in ctx.recipe.label_writes:
        word = _rows(write)
        if word is None or id(write.site.node) in seen or q.labelled_again(ctx.recipe, write):
            continue
        seen.add(id(write.site.node))
        assert write.tensor.tokens is not None
        yield ctx.finding(
            write.site,
            f"The first axis of a batch is its rows: this masks {word}, and not the first tokens of each",
            case=escape(write.when, []),
            severity=Severity.WARNING,
            flow=[(write.tensor.tokens.site, "a row for each text"), (write.site, "whole rows get no label")],
            advice="slice the tokens: `labels[:, :n] = -100`",
        )
    places: dict[int, list[tuple[Condition, tuple[Site, Event]]]] = {}
    for life in q.models(ctx.recipe):
        for run in q.trained(life):
            site = _without_labels(ctx, life, run)
            if site is not None:
                places.setdefault(id(run.trainer), []).append((run.when, (site, run)))
    fact = F("trainer-needs-labels")
    for candidates in places.values():
        best = q.clearest(candidates)
        if best is not None:
            case, (site, run) = best
            yield ctx.finding(
                site,
                "The batches have no labels, so that the model returns no loss",
                case=case,
                versions=fact,
                failure=fact.fact.message,
                flow=[(site, "nothing adds labels"), (run.site, "training starts")],
                advice="use DataCollatorForLanguageModeling(tokenizer, mlm=False), or add labels to the rows",
            )


def _rows(write: LabelWrite) -> str | None:
    """Which rows a write takes the labels from, in words; ``None`` where it is no such write."""
    tokens, key = write.tensor.tokens, write.key
    if tokens is None or not tokens.shaped or not isinstance(key, Slice) or not q.ignores(write):
        return None
    if key.lower not in (ABSENT, NONE) and key.lower != Const(0):
        return None
    upper = key.upper
    if upper in (ABSENT, NONE):
        return "every row"
    if isinstance(upper, Ids) and upper.length:
        return "as many rows as the text has tokens"
    return f"the first {upper.value} rows" if isinstance(upper, Const) and isinstance(upper.value, int) and upper.value >= MANY else None


def _without_labels(ctx: Context, life: ModelLife, run: Event) -> Site | None:
    """Where the batches of a Trainer are made, if surely without labels."""
    trainer, data = run.data.get("trainer"), run.data.get("data")
    if not isinstance(trainer, Obj) or not isinstance(data, Data) or trainer.name.rpartition(".")[2] != "Trainer":
        return None
    if trainer.info.get("inst") is not None or trainer.info.get("open") or not q.is_library(life) or not life.cls.endswith("ForCausalLM"):
        return None
    collator = trainer.info["collator"]
    if data.batch is not ABSENT:
        return trainer.info["site_of"]("data_collator", 2) if _lacks(ctx, data.batch) else None
    plain = collator in (ABSENT, NONE) or (isinstance(collator, Obj) and collator.kind == "collator" and collator.name in COLLATORS)
    return trainer.site if plain and isinstance(data.row, Dict) and _lacks(ctx, data.row) else None


def _lacks(ctx: Context, batch: Value) -> bool:
    """Whether a batch or row is known as a whole and has no labels."""
    for _, v in options(batch):
        if any(v is handed for handed in ctx.recipe.handed):
            return False
        if isinstance(v, Dict):
            if REST in v.slots or not v.slots or any(name in v.slots for name in LABELS):
                return False
        elif isinstance(v, Obj) and v.kind == "encoding":
            whole = v.slots.get("")
            if getattr(whole, "tokens", None) is None or "?" in v.slots or any(name in v.slots for name in LABELS):
                return False
        else:
            return False
    return True
