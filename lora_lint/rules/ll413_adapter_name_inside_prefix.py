"""LL413: an adapter is named "lora", and the keys that it is saved under are not found again."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.findings import Finding
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.values import ABSENT, Const, options
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)

LORA = ("LoraConfig", "AdaLoraConfig")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each adapter of that name whether it is saved."""
    for life in q.models(ctx.recipe):
        for wrap in life.all("wrapped"):
            for condition, name in options(wrap.data.get("adapter_name", ABSENT)):
                if not isinstance(name, Const) or name.value != "lora":
                    continue
                if not any(config.name in LORA for _, config in q.config_objects(wrap.config)):
                    continue
                saves = [e for e in life.all("saved", "trained", after=wrap.order) if (e.how == "trainer" if e.kind == "trained" else e.peft)]
                for save in saves[:1]:
                    happens = q.possible(wrap.when, condition, save.when)
                    if happens is None:
                        continue
                    yield ctx.finding(
                        wrap.adapter_name_site,
                        'An adapter named "lora" is saved under broken keys: the name is cut out of "lora_A" and "lora_B", '
                        "and the adapter that is loaded again is zero",
                        case=escape(happens, q.conditions(life.all("merged", "escaped", "surgery", before=save.order, after=wrap.order))),
                        versions=F("adapter-name-in-prefix-lost"),
                        flow=[(wrap.site, "the adapter gets its name"), (save.site, "and is saved")],
                        advice="choose a name that does not begin like the names of layers, or leave it out",
                    )
