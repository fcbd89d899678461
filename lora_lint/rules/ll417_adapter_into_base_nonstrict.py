"""LL417: an adapter's state dict goes into the plain base with strict=False, and nothing is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lora_lint.findings import Finding
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Site
from lora_lint.recipe.values import Const, Obj, Sym, Value, options
from lora_lint.rule import Context

NEEDS = (("library",),)

FILES = re.compile(r"adapter_model\.(bin|safetensors)['\"]?\)*$")


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each lenient load_state_dict of a plain base whether what it gets came from a PeftModel."""
    for life in q.models(ctx.recipe):
        if not q.is_library(life):
            continue
        for load in life.all("weights_set"):
            if load.peft or not load.data.get("whole") or not (isinstance(load.strict, Const) and load.strict.value is False):
                continue
            for condition, state in options(load.state):
                origin = _origin(ctx, state)
                happens = q.possible(load.when, condition)
                if origin is None or happens is None:
                    continue
                site, story = origin
                cures = q.conditions(life.all("wrapped", "adapter_loaded", "surgery", "escaped", before=load.order))
                yield ctx.finding(
                    load.site,
                    "No key of this adapter fits the plain base, and strict=False keeps silent about it: the base stays as it was",
                    case=escape(happens, cures),
                    flow=[(site, story), (load.site, "and goes into the base")],
                    advice="use PeftModel.from_pretrained(base, folder), or get_peft_model and then set_peft_model_state_dict",
                )


def _origin(ctx: Context, state: Value) -> tuple[Site, str] | None:
    """Where the state dict came from, if it surely is a PeftModel's."""
    if isinstance(state, Obj) and state.kind == "state_dict" and state.info.get("adapters") and state.site is not None:
        return state.site, "the state dict of a PeftModel"
    read = ctx.recipe.read.get(id(state.subject)) if isinstance(state, Sym) else None
    if read is None:
        return None
    if FILES.search(read.text):
        return read.site, "the file of an adapter is read"
    written = [w for w in ctx.recipe.written if q.same_path(w.path, read.path)]
    if written and all(w.adapters for w in written):
        return written[0].site, "the state dict of a PeftModel is written"
    return None
