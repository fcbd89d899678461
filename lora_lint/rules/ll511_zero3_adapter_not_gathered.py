"""LL511: a ZeRO-3 configuration that does not gather the weights for saving."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix, Severity
from lora_lint.recipe import distributed as d
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import Condition, both, escape
from lora_lint.recipe.events import Event, ModelLife, Site
from lora_lint.recipe.values import ABSENT, FALSE, NONE, Const, Dict, Inst, Obj, Value, options
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)

_SAVING = ("save_model", "_save", "_save_checkpoint")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each run of a trainer over adapters whether its DeepSpeed configuration lets the trainer save them."""
    if ctx.recipe.gathers:
        return
    for life in q.models(ctx.recipe):
        for run in q.trained(life):
            if run.how != "trainer" or not _saves_as_usual(life, run):
                continue
            for adapters in _adapters(life, run):
                yield _report(ctx, run, adapters)
                break


def _adapters(life: ModelLife, run: Event) -> Iterator[Condition]:
    """When the model of a run has adapters: attached before, or by the trainer, which may know the model by its name alone."""
    yield from q.conditions(q.attached(life, run.order))
    for condition, _ in q.config_objects(run.trainer.slots.get("peft_config", ABSENT)):
        yield both(run.when, condition)


def _saves_as_usual(life: ModelLife, run: Event) -> bool:
    """Whether the trainer saves, and in its own way: nothing of the script has a hand in it."""
    trainer = run.data.get("trainer")
    if not isinstance(trainer, Obj) or trainer.info.get("open") or trainer.slots.get("callbacks", ABSENT) not in (ABSENT, NONE):
        return False
    inst = trainer.info.get("inst")
    if isinstance(inst, Inst) and any(inst.cls.lookup(name) is not None for name in _SAVING):
        return False
    if any(e.explicit for e in life.all("saved")) or any(True for _ in life.all("state_dict_replaced")):
        return False
    return not any(v == Const("no") for _, v in options(run.arguments["save_strategy"]))


def _report(ctx: Context, run: Event, adapters: Condition) -> Finding | None:
    for config, when, site in _configs(ctx, run):
        for zero in d.zeros(ctx.recipe, config):
            if zero.stage != 3 or not zero.known:
                continue
            given = [zero.section.slots[name] for name in d.GATHER if name in zero.section.slots]
            if any(value is not ABSENT and value != FALSE for value in given):
                continue
            happens = q.possible(run.when, adapters, when, zero.when)
            if happens is None:
                continue
            place = _place(zero.section, bool(given)) or site
            return ctx.finding(
                place,
                f"ZeRO-3 without {d.GATHER[0]}: the Trainer saves an adapter without weights",
                case=escape(happens, []),
                versions=F("zero3-adapter-needs-gathering"),
                severity=Severity.ERROR if place is not run.site else Severity.WARNING,
                flow=[(place, "the weights stay sharded when the model is saved"), (run.site, "the Trainer trains and saves the adapters")],
                advice=f'set "{d.GATHER[0]}": true',
                fix=_fix(ctx, place, bool(given)),
            )
    return None


def _configs(ctx: Context, run: Event) -> Iterator[tuple[Value, Condition, Site]]:
    """The configurations of this run: the trainer's argument, or what the launch line gives to arguments that the command line makes."""
    for condition, value in options(run.arguments["deepspeed"]):
        if isinstance(value, (Const, Dict)):
            shown = next((e for e in ctx.recipe.distributed if e.config is value and e.site is not None), None)
            yield value, condition, shown.site if shown is not None and shown.site is not None else run.site
        elif ctx.recipe.arguments_parsed is not None or value is ABSENT:
            for e in d.evidence(ctx.recipe):
                if e.site is None and e.config is not None:
                    yield e.config, condition, run.site


def _place(section: Dict, given: bool) -> Site | None:
    """The entry of the configuration that is wrong, or the one that says stage 3."""
    names = d.GATHER if given else ("stage",)
    return next((section.sites[name] for name in names if name in section.sites), None)


def _fix(ctx: Context, place: Site, given: bool) -> Fix | None:
    element = place.node
    if not ctx.here(place) or not isinstance(element, cst.DictElement):
        return None
    title = "Gather the weights for saving"
    if given:
        return ctx.fix(title, ctx.editor.replace(element.value, "True"))
    return ctx.fix(title, ctx.editor.add_entry(element, f'"{d.GATHER[0]}": True'))
