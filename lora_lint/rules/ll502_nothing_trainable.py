"""LL502: every parameter is frozen when training starts."""

from __future__ import annotations

from collections.abc import Iterator

from lora_lint.findings import Finding
from lora_lint.recipe import queries as q
from lora_lint.recipe.events import Event, Site
from lora_lint.rule import Context
from lora_lint.versions import error_text

CAUSES = {
    "frozen": "every parameter is frozen here",
    "merged": "the adapters are merged away here, and the base is frozen",
    "disabled": "the adapters are disabled here, and the base is frozen",
    "merged_in_place": "the adapters are merged here: the forward goes around them",
}

NEEDS = (("library",), ("trained",), ("frozen",))


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each training run whether anything is left that can learn."""
    for life in q.models(ctx.recipe):
        if life.kind == "outside" and not any(True for _ in life.all("wrapped", "adapter_loaded")):
            continue
        for found in q.frozen(life):
            if found.event.kind not in CAUSES or q.learns_elsewhere(ctx.recipe, found.run, life, found.happens):
                continue
            attached = list(life.all("wrapped", "adapter_loaded", before=found.event.order))
            if attached and found.event.kind == "frozen":
                continue  # LL404
            if not attached and any(True for _ in life.all("wrapped", "adapter_loaded", before=found.run.order)):
                continue  # frozen before the adapters came, as it should be; LL402 and LL403 speak of the adapters
            given = found.run.how == "trainer" or q.is_optimized(life, found.run, found.happens)
            if not attached and not (given and life.kind == "pretrained"):
                continue
            yield ctx.finding(
                found.event.site,
                f"Nothing is left to train: {CAUSES[found.event.kind]}",
                case=found.case,
                failure=None if q.inputs_require_grad(life, found) else error_text("backward-without-grad"),
                flow=_flow(found, attached),
                advice="freeze before the adapters are attached, and leave them trainable",
            )


def _flow(found: q.Frozen, attached: list[Event]) -> list[tuple[Site, str]]:
    return list(
        q.story(
            *((e, "adapters are attached") for e in attached[-1:]),
            (found.event, CAUSES[found.event.kind].partition(",")[0]),
            (found.run, "training starts"),
        )
    )
