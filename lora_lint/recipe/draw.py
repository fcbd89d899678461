"""Draw a recipe as a Mermaid diagram, or as a page that needs nothing but a browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby

from lora_lint.recipe.conditions import describe
from lora_lint.recipe.events import ModelLife, Site
from lora_lint.recipe.machine import Recipe
from lora_lint.recipe.show import phrase, shown, where

# What a kind of event means for training, as the page's colours show it.
TONES = {
    "quantized": "cold", "frozen": "cold", "merged": "cold", "disabled": "cold", "checkpointing_off": "cold",
    "prepared": "warm", "input_grads": "warm", "wrapped": "warm", "adapter_loaded": "warm", "unfrozen": "warm", "enabled": "warm",
    "set_adapter": "warm", "forward": "hot", "trained": "hot", "optimized": "hot", "generate": "plain", "checkpointing": "warm",
    "escaped": "dark", "saved": "plain", "moved": "plain",
}  # fmt: skip


@dataclass(frozen=True)
class Beat:
    """One thing that happens, in program order: in which lane (a model, or ``None`` for the step itself), where, and under which condition."""

    order: int
    lane: int | None
    site: Site
    text: str
    tone: str
    condition: str


def beats(recipe: Recipe) -> list[Beat]:
    """All that happens to the models that a reader cares about, to the optimizers, and the backward passes."""
    reached = {id(backward.site.node): {life.number for life in backward.tensor.attached} for backward in recipe.backwards}
    found = []
    for life in shown(recipe):
        for event in life.events:
            words, tone = phrase(event), TONES.get(event.kind, "plain")
            if event.kind == "trained" and life.number not in reached.get(id(event.site.node), {life.number}):
                words, tone = "no gradient gets here", "plain"
            found.append(Beat(event.order, life.number, event.site, words, tone, describe(event.when) if event.when else ""))
    for optimizer in recipe.optimizers:
        held = ", ".join(f"model {life.number}" for life in optimizer.lives if life.kind != "layer") or "layers"
        condition = describe(optimizer.when) if optimizer.when else ""
        found.append(Beat(optimizer.order, None, optimizer.site, f"{optimizer.cls} over {held}", "plain", condition))
    for backward in recipe.backwards:
        to = ", ".join(f"model {number}" for number in sorted(life.number for life in backward.tensor.attached))
        state = "cut off from every model" if backward.tensor.cut_off else f"gradient to {to}" if to else "of unknown origin"
        tone = "cold" if backward.tensor.cut_off else "hot"
        condition = describe(backward.when) if backward.when else ""
        found.append(Beat(backward.order, None, backward.site, f"backward through {backward.how}: {state}", tone, condition))
    return sorted(found, key=lambda beat: beat.order)


def title(life: ModelLife) -> str:
    """A model's heading: its number, class and names."""
    names = ", ".join(dict.fromkeys(life.names))
    return f"model {life.number}: {life.cls or life.kind}" + (f" ({names})" if names else "")


def mermaid(recipe: Recipe) -> str:
    """A flowchart: one box a model, its events from top to bottom; optimizers and backward passes point to what they hold."""
    lines = ["flowchart TB"]
    found = beats(recipe)
    for life in shown(recipe):
        lines.append(f'    subgraph m{life.number}["{_quoted(title(life))}"]')
        own = [beat for beat in found if beat.lane == life.number]
        names = [f"m{life.number}e{i}" for i in range(len(own))]
        lines += [f'        {name}["{_quoted(_line(recipe, beat))}"]' for name, beat in zip(names, own, strict=True)]
        if len(names) > 1:
            lines.append("        " + " --> ".join(names))
        lines.append("    end")
    for i, optimizer in enumerate(recipe.optimizers):
        lines.append(f'    o{i}(["{_quoted(f"{optimizer.cls}, line {where(optimizer.site)[1]}")}"])')
        lines += [f"    o{i} -. holds .-> m{life.number}" for life in optimizer.lives if life.kind != "layer"]
    for i, backward in enumerate(recipe.backwards):
        lines.append(f'    b{i}{{{{"{_quoted(f"backward, line {where(backward.site)[1]}")}"}}}}')
        lines += [f"    b{i} == gradient ==> m{life}" for life in sorted(life.number for life in backward.tensor.attached)]
    return "\n".join(lines) + "\n"


def _line(recipe: Recipe, beat: Beat) -> str:
    path, line = where(beat.site)
    place = str(line) if path == recipe.source.path else f"{path}:{line}"
    return f"{place}: {beat.text}" + (f", if {beat.condition}" if beat.condition else "")


def _quoted(text: str) -> str:
    """Text inside quotation marks of a Mermaid node."""
    return escape(text).replace("#", "&num;").replace("\n", " ")


def html(recipe: Recipe) -> str:
    """A page: the source lines at which something happens, and beside them one lane a model."""
    lives = shown(recipe)
    lanes: list[int | None] = [life.number for life in lives]
    found = beats(recipe)
    if any(beat.lane is None for beat in found):
        lanes.append(None)
    heads = "".join(f"<th>{escape(title(life))}</th>" for life in lives) + ("<th>the step</th>" if None in lanes else "")
    body = "".join(_rows(recipe, found, lanes))
    note = f"<p>Incomplete: {escape(recipe.gave_up)} after {recipe.steps} steps.</p>" if recipe.gave_up else ""
    empty = "<p>No model in sight.</p>" if not lives else ""
    name = escape(recipe.source.path)
    return _PAGE.format(name=name, style=_STYLE, note=note + empty, heads=heads, body=body)


def _rows(recipe: Recipe, found: list[Beat], lanes: list[int | None]) -> Iterator[str]:
    rows = _grouped(found)
    spans: dict[int | None, tuple[int, int]] = {}
    for row, (_, group) in enumerate(rows):
        for beat in group:
            spans[beat.lane] = (spans.get(beat.lane, (row, row))[0], row)
    before = ("", 0)
    for row, ((path, line), group) in enumerate(rows):
        gap = ' class="gap"' if path != before[0] or line > before[1] + 1 or line < before[1] else ""
        before = (path, line)
        source = group[0].site.source
        code = source.line(line).strip()
        place = str(line) if path == recipe.source.path else f"{path}:{line}"
        cells = "".join(_cell([beat for beat in group if beat.lane == lane], spans.get(lane), row) for lane in lanes)
        yield f"<tr{gap}><td class=place>{escape(place)}</td><td class=code><code>{escape(code)}</code></td>{cells}</tr>\n"


def _grouped(found: list[Beat]) -> list[tuple[tuple[str, int], list[Beat]]]:
    """Beats of one source line that follow each other, together."""
    return [(place, list(group)) for place, group in groupby(found, key=lambda beat: where(beat.site))]


def _cell(own: list[Beat], span: tuple[int, int] | None, row: int) -> str:
    alive = span is not None and span[0] <= row <= span[1]
    ends = " first" if span and row == span[0] else ""
    ends += " last" if span and row == span[1] else ""
    marks = "".join(
        f'<span class="beat {beat.tone}">{escape(beat.text)}{f"<i>if {escape(beat.condition)}</i>" if beat.condition else ""}</span>' for beat in own
    )
    return f'<td class="lane{" alive" if alive else ""}{ends}">{marks}</td>'


_STYLE = """
:root { color-scheme: light dark; --line: #c9ced6; --ink: #1f2430; --paper: #fff; --soft: #f4f6f8; --dim: #697180;
  --warm: #fdeccb; --hot: #fbd3c8; --cold: #d5e6fb; --dark: #dfdbe8; --plain: #e9ecef; }
@media (prefers-color-scheme: dark) { :root { --line: #454c59; --ink: #e4e7ec; --paper: #16191f; --soft: #1e222a; --dim: #98a1b0;
  --warm: #54431b; --hot: #61301f; --cold: #1d3a5c; --dark: #3b3448; --plain: #2c323c; } }
body { margin: 1.5rem; font: 14px/1.4 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.1rem; } p.legend { color: var(--dim); } p.legend span { margin-right: .6em; }
table { border-collapse: collapse; }
th { position: sticky; top: 0; background: var(--paper); text-align: left; padding: .4rem .8rem; border-bottom: 2px solid var(--line);
  max-width: 22rem; vertical-align: bottom; }
td { padding: .15rem .8rem; vertical-align: top; }
tr.gap td { border-top: 1px dotted var(--line); }
tr:hover td { background: var(--soft); }
td.place { color: var(--dim); text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.code code { font: 12.5px/1.5 ui-monospace, monospace; white-space: pre; display: block; max-width: 36rem; overflow: hidden;
  text-overflow: ellipsis; }
td.lane { position: relative; min-width: 11rem; padding-left: 1.6rem; }
td.alive::before { content: ""; position: absolute; left: .75rem; top: 0; bottom: 0; border-left: 2px solid var(--line); }
td.first::before { top: .9rem; } td.last::before { bottom: calc(100% - .9rem); }
.beat { position: relative; display: inline-block; border-radius: .4rem; padding: .05rem .5rem; margin: .05rem 0; background: var(--plain); }
td.lane .beat::before { content: ""; position: absolute; left: -1.18rem; top: .45rem; width: .5rem; height: .5rem; border-radius: 50%;
  background: var(--dim); }
.beat i { display: block; color: var(--dim); font-size: .9em; }
.warm { background: var(--warm); } .hot { background: var(--hot); } .cold { background: var(--cold); } .dark { background: var(--dark); }
"""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>recipe of {name}</title><style>{style}</style></head>
<body><h1>{name}: what happens to each model</h1>
<p class="legend"><span class="beat warm">makes it trainable</span><span class="beat cold">takes gradient away</span>
<span class="beat hot">trains</span><span class="beat dark">goes out of sight</span></p>
{note}<table><thead><tr><th>line</th><th></th>{heads}</tr></thead>
<tbody>
{body}</tbody></table></body></html>
"""
