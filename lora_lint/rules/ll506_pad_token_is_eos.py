"""LL506: padding with the EOS where the padding gets no label, so that the EOS of a text gets none either."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lora_lint.findings import Finding, Severity
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition
from lora_lint.recipe.events import Data, Event, LabelWrite, Site
from lora_lint.recipe.values import ABSENT, FALSE, NONE, Dict, Ids, Mask, Obj, Value, is_eos, options, walk
from lora_lint.rule import Context
from lora_lint.versions import ALWAYS, Expr, F

NEEDS = (("library",),)


@dataclass(frozen=True)
class Masked:
    """A place where padding loses its labels, with what the tokenizer pads with there."""

    site: Site
    word: str
    tokenizer: Obj
    pad: Value
    when: Condition
    versions: Expr = ALWAYS
    run: Event | None = None


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each training run with a library's collator, then each mask over labels that the script writes itself."""
    places: dict[int, list[Masked]] = {}
    for life in q.models(ctx.recipe):
        for run in q.trained(life):
            data = run.data.get("data")
            masked = _masking(run, data) if isinstance(data, Data) else None
            if masked is not None:
                places.setdefault(id(masked.site.node), []).append(masked)
    for write in ctx.recipe.label_writes:
        tokens = write.tensor.tokens
        if tokens is not None and _masks_padding(write) and _has_eos(tokens.text, tokens.tokenizer) and not q.labelled_again(ctx.recipe, write):
            masked = Masked(write.site, "the labels are masked where they are padding", tokens.tokenizer, write.pad, write.when)
            places.setdefault(id(write.site.node), []).append(masked)
    for found in places.values():
        best = q.clearest((happens, masked) for masked in found for happens in _with_eos(masked))
        if best is None:
            continue
        case, masked = best
        placed = masked.tokenizer.info.get("pad_site")
        yield ctx.finding(
            masked.site,
            "Padding gets no label, and the tokenizer pads with its EOS: the model is never taught to stop",
            case=case,
            versions=masked.versions,
            severity=Severity.WARNING,
            flow=[
                *([(placed, "the EOS becomes the padding token")] if placed is not None else []),
                (masked.site, masked.word),
                *([(masked.run.site, "training starts")] if masked.run is not None else []),
            ],
            advice="give the tokenizer a padding token of its own (`tokenizer.pad_token = tokenizer.unk_token`, or one that the model has reserved)",
        )


def _with_eos(masked: Masked) -> Iterator[Condition]:
    """When the padding token there is the EOS."""
    for condition, value in options(masked.pad):
        happens = q.possible(masked.when, condition)
        if happens is not None and is_eos(value):
            yield happens


def _masking(run: Event, data: Data) -> Masked | None:
    """The collator of a run that ignores padding by its id; ``None`` where there is none, or no EOS to ignore."""
    trainer: Obj = run.trainer
    if trainer.info.get("inst") is not None or trainer.info.get("open") or data.tokenizer is None or not _row_has_eos(data):
        return None
    for condition, collator in options(trainer.info["collator"]):
        when = q.conjunction(run.when, condition)
        if isinstance(collator, Obj) and collator.name == "DataCollatorForLanguageModeling" and collator.info["mlm"] is FALSE and collator.site:
            word = "the collator ignores the padding token in the labels"
            return Masked(collator.site, word, data.tokenizer, data.pad, when, F("lm-collator-masks-eos-as-pad"), run)
        if collator in (ABSENT, NONE) and trainer.name.endswith("SFTTrainer") and not _packs(trainer) and trainer.site:
            word = "the trainer's own collator ignores the padding token in the labels"
            return Masked(trainer.site, word, data.tokenizer, data.pad, when, F("sft-masks-eos-as-pad"), run)
    return None


def _packs(trainer: Obj) -> bool:
    """Whether the trainer may pack its texts, which is another way to labels."""
    given = [trainer.info["keywords"].get("packing", ABSENT)]
    given += [v.slots.get("packing", ABSENT) for _, v in options(trainer.slots["args"]) if isinstance(v, Obj)]
    return any(v not in (ABSENT, FALSE) for v in given)


def _row_has_eos(data: Data) -> bool:
    """Whether what is trained on has an EOS in it, written by the script or by the tokenizer."""
    assert data.tokenizer is not None
    row = data.row
    ids = row.slots.get("input_ids", ABSENT) if isinstance(row, Dict) else ABSENT
    if isinstance(ids, Ids) and ids.tokens is not None:
        added = ids.tokens.tokenizer.slots.get("add_eos_token", ABSENT)
        return _has_eos(ids.tokens.text, ids.tokens.tokenizer) or (q.is_true(added) and bool(ids.tokens.tokenizer.info["family"].bos))
    return data.text is not ABSENT and _has_eos(data.text, data.tokenizer)


def _has_eos(text: Value, tokenizer: Obj) -> bool:
    """Whether a text has the tokenizer's EOS in it, added by name or written by the chat template of a checkpoint that is known to do so."""
    held = list(walk(text))
    known = tokenizer.info.get("family")
    chat = known is not None and known.eos and any(isinstance(v, Obj) and "chat" in v.info and v.info["template"] is ABSENT for v in held)
    return chat or any(is_eos(v) for v in held)


def _masks_padding(write: LabelWrite) -> bool:
    """Whether a write takes the labels away where they are the padding token."""
    key = write.key
    if not isinstance(key, Mask) or key.operator != "Equal" or not q.ignores(write):
        return False
    names = {getattr(v, "text", "").rpartition(".")[2] for _, v in options(key.to)}
    return bool(names) and names <= {"pad_token_id", "eos_token_id"} and ("pad_token_id" in names or is_eos(write.pad))
