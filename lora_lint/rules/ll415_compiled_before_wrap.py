"""LL415: adapters are attached to what torch.compile made, and saved under keys that no plain base has."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from lora_lint.findings import Finding, Fix
from lora_lint.recipe import queries as q
from lora_lint.recipe.conditions import escape
from lora_lint.recipe.events import Event
from lora_lint.recipe.values import Model
from lora_lint.rule import Context
from lora_lint.versions import F

NEEDS = (("library",),)


def check(ctx: Context) -> Iterator[Finding | None]:
    """Ask each adapter of a compiled model whether it is saved."""
    for life in q.models(ctx.recipe):
        for wrap in life.all("wrapped"):
            if not wrap.data.get("compiled"):
                continue
            compiled = [e for e in life.all("parallel", before=wrap.order) if e.by == "compile"]
            saves = [e for e in life.all("saved", "trained", after=wrap.order) if (e.how == "trainer" if e.kind == "trained" else e.peft)]
            reloaded = any(_compiled(e.data.get("base")) for other in ctx.recipe.models for e in other.all("adapter_loaded"))
            for save in saves[:1]:
                happens = q.possible(wrap.when, save.when, *(e.when for e in compiled[-1:]))
                if happens is None or reloaded:
                    continue
                yield ctx.finding(
                    wrap.site,
                    "The adapters are attached to the compiled model: they are saved under keys with _orig_mod, which a plain base does not have, "
                    "and stay zero when they are loaded onto one",
                    case=escape(happens, q.conditions(life.all("merged", "escaped", "surgery", before=save.order, after=wrap.order))),
                    versions=F("compiled-base-marks-keys"),
                    flow=q.story((compiled[-1] if compiled else None, "the base is compiled"), (wrap, "adapters are attached to the compiled model"),
                                 (save, "and saved")),
                    advice="attach the adapters first, and compile the PeftModel",
                    fix=_fix(ctx, compiled[-1], wrap) if compiled else None,
                )  # fmt: skip


def _compiled(base: object) -> bool:
    return isinstance(base, Model) and base.compiled


def _fix(ctx: Context, compiled: Event, wrap: Event) -> Fix | None:
    """Move ``x = torch.compile(x)`` below ``x = get_peft_model(x, …)``, where both are plain assignments to one name in one block."""
    first, second = _target(compiled), _target(wrap)
    if first is None or first != second or compiled.site.block != wrap.site.block or not ctx.here(wrap.site) or wrap.when != compiled.when:
        return None
    stmt = compiled.site.stmt
    assert stmt is not None
    return ctx.fix(
        "Compile after the adapters are attached",
        ctx.editor.delete_statement(stmt),
        ctx.insert(wrap.site, f"{first} = {ctx.code(compiled.site.node)}"),
        safe=False,
    )


def _target(event: Event) -> str | None:
    """The name in ``name = call(name, …)``."""
    stmt, call = event.site.stmt, event.site.node
    if not isinstance(stmt, cst.SimpleStatementLine) or len(stmt.body) != 1 or not isinstance(call, cst.Call) or not call.args:
        return None
    small, given = stmt.body[0], call.args[0].value
    if not isinstance(small, cst.Assign) or small.value is not call or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    return target.value if isinstance(target, cst.Name) and isinstance(given, cst.Name) and given.value == target.value else None
