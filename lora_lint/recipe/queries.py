"""Questions that several rules ask of a recipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import libcst as cst

from lora_lint.recipe.conditions import ALWAYS, Case, Condition, both, compatible, escape, satisfiable
from lora_lint.recipe.events import Backward, Event, LabelWrite, ModelLife, Site
from lora_lint.recipe.machine import Recipe
from lora_lint.recipe.values import ABSENT, NONE, Const, Cut, Obj, Seq, Sym, Value, options

Thing = TypeVar("Thing")

OUTPUT_HEADS = ("lm_head", "embed_out", "score", "classifier", "output_layer", "qa_outputs", "classification_head", "cls")
AUTO_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
GRAD_MODES = ("no_grad", "inference_mode")
EMBEDDINGS = ("embed", "wte", "shared", "word_embeddings", "tok_embeddings", "wpe")
PROMPT_METHODS = (
    "PromptTuningConfig",
    "PrefixTuningConfig",
    "PromptEncoderConfig",
    "MultitaskPromptTuningConfig",
    "CPTConfig",
    "AdaptionPromptConfig",
)


def models(recipe: Recipe) -> list[ModelLife]:
    """Lives of whole models (not single layers, not module inputs)."""
    return [x for x in recipe.models if x.kind not in ("layer", "input")]


def wraps(life: ModelLife, before: int | None = None) -> list[Event]:
    """Events that attach new adapters."""
    return list(life.all("wrapped", before=before))


def attached(life: ModelLife, before: int) -> list[Event]:
    """Events that attach or load adapters."""
    return list(life.all("wrapped", "adapter_loaded", before=before))


def trained(life: ModelLife) -> list[Event]:
    """The training runs of a model, one for each place."""
    seen: dict[tuple[object, ...], Event] = {}
    for e in life.all("trained"):
        seen.setdefault((id(e.site.node), e.when, *(id(c.node) for c in e.site.calls)), e)
    return list(seen.values())


def conjunction(*parts: Condition) -> Condition:
    """All of the conditions together."""
    made: Condition = ALWAYS
    for part in parts:
        made = both(made, part)
    return made


def conditions(events: Iterable[Event]) -> list[Condition]:
    """When the events happen."""
    return [e.when for e in events]


def possible(*parts: Condition) -> Condition | None:
    """The conjunction, or ``None`` where no run can meet it."""
    made = conjunction(*parts)
    return made if satisfiable(made) else None


def escapes(life: ModelLife, before: int | None = None, after: int | None = None) -> list[Event]:
    """Events after which anything may have happened to the model in code that we cannot see."""
    return list(life.all("escaped", before=before, after=after))


def is_encoder_decoder(life: ModelLife) -> bool:
    """Whether the model has a second stack, whose blocks a hook on the input embeddings does not feed (measured: BART, Whisper)."""
    return any(word in life.cls for word in ("Seq2Seq", "ConditionalGeneration"))


def is_library(life: ModelLife) -> bool:
    """Whether the model's past is known: loaded or built here by transformers or PEFT."""
    return life.kind in ("pretrained", "config") and life.library in ("transformers", "peft", "trl")


def config_objects(value: Value) -> Iterator[tuple[Condition, Obj]]:
    """The adapter configurations that a value can be, each under its condition."""
    for condition, v in options(value):
        if isinstance(v, Obj) and v.kind == "adapter_config":
            yield condition, v


def _strings(value: Value) -> list[str] | None:
    """The texts in a list-like value; ``None`` where they are not known."""
    found: list[str] = []
    for _, v in options(value):
        if isinstance(v, Seq) and v.rest is None and all(isinstance(i, Const) for i in v.items):
            found.extend(str(i.value) for i in v.items if isinstance(i, Const))
        elif isinstance(v, Const):
            found.extend([v.value] if isinstance(v.value, str) else [])
        elif v is not ABSENT:
            return None
    return found


@dataclass(frozen=True)
class Adapters:
    """What an adapter configuration trains besides the matrices inside the blocks; ``None`` where the source does not tell."""

    embeddings: bool | None
    after_blocks: bool | None
    prompt: bool


def adapters(config: Value) -> Adapters:
    """Read an adapter configuration."""
    embeddings: bool | None = False
    after: bool | None = False
    prompt = False
    found = list(config_objects(config))
    if not found:
        return Adapters(None, None, False)
    for _, obj in found:
        prompt = prompt or obj.name in PROMPT_METHODS
        if "trainable_token_indices" in obj.slots:
            embeddings = True
        for key in ("target_modules", "modules_to_save"):
            names = _strings(obj.slots.get(key, ABSENT))
            if names is None:
                embeddings = None if embeddings is False else embeddings
                after = None if after is False else after
                continue
            for name in names:
                leaf = name.rpartition(".")[2]
                embeddings = True if any(word in leaf for word in EMBEDDINGS) and "embed_out" not in leaf else embeddings
                after = True if leaf in OUTPUT_HEADS else after
        task = obj.slots.get("task_type", ABSENT)
        text = task.value if isinstance(task, Const) else getattr(task, "leaf", "")
        if text in ("SEQ_CLS", "TOKEN_CLS"):
            after = True
    return Adapters(embeddings, after, prompt)


def quantized(life: ModelLife) -> list[Event]:
    """When the base is quantized by bitsandbytes, and when perhaps."""
    return list(life.all("quantized"))


def preparations(life: ModelLife, before: int) -> list[Condition]:
    """When a quantized base has been prepared for training, by the library or by hand."""
    by_hand = [e for e in life.all("frozen", before=before) if not e.data.get("partial")]
    return conditions([*life.all("prepared", before=before), *by_hand, *life.all("input_grads", before=before), *escapes(life, before=before)])


@dataclass(frozen=True)
class Unprepared:
    """A quantized base that is trained with adapters and was never prepared."""

    quantized: Event
    wrapped: Event
    trained: Event
    case: Case
    happens: Condition


def unprepared(life: ModelLife) -> Unprepared | None:
    """The clearest way in which a 4- or 8-bit base gets adapters and is trained without preparation."""
    best: Unprepared | None = None
    if not is_library(life):
        return None
    for run in trained(life):
        trainer = run.data.get("trainer")
        if isinstance(trainer, Obj) and trainer.info.get("trl") and not trainer.name.endswith("RewardTrainer"):
            continue  # RewardTrainer prepares only what it wraps itself
        for wrap in attached(life, run.order):
            if wrap.kind == "wrapped" and wrap.by in ("trainer", "trl"):
                continue
            if wrap.kind == "adapter_loaded" and not is_true(wrap.trainable):
                continue
            for q in quantized(life):
                if q.bits not in (4, 8):
                    continue
                happens = possible(run.when, wrap.when, q.when)
                if happens is None:
                    continue
                case = escape(happens, preparations(life, run.order))
                if case is not None and case.certain and (best is None or (case.by_default and not best.case.by_default)):
                    best = Unprepared(q, wrap, run, case, happens)
    return best


def is_true(value: Value) -> bool:
    """Whether a value is a true constant."""
    return isinstance(value, Const) and bool(value.value)


@dataclass(frozen=True)
class Checkpointing:
    """Gradient checkpointing that is on in a training run."""

    event: Event
    run: Event
    when: Condition
    reentrant: bool | None


def checkpointings(life: ModelLife) -> Iterator[Checkpointing]:
    """Each way in which checkpointing is on when the model trains, with whether it is reentrant (``None``: the default decides)."""
    for run in trained(life):
        if run.how != "trainer" and life.kind == "pretrained":
            modes = list(life.all("mode", before=run.order))
            last = [e for e in modes if e.train]
            if not last or (modes and not modes[-1].train and not modes[-1].when):
                continue
        for event in life.all("checkpointing", before=run.order):
            later = list(life.all("checkpointing_off", before=run.order, after=event.order))
            happens = possible(run.when, event.when)
            if happens is None or escape(happens, conditions(later)) is None:
                continue
            if event.by == "trainer" and not _same_run(event, run):
                continue
            for condition, value in options(event.reentrant):
                when = possible(happens, condition)
                if when is None:
                    continue
                if value is ABSENT or value is NONE:
                    yield Checkpointing(event, run, when, None)
                elif isinstance(value, Const):
                    if value.value:
                        yield Checkpointing(event, run, when, True)
                    elif event.by == "trainer":
                        return
                elif isinstance(value, Sym) and value.subject.default and value.subject.default[0]:
                    yield Checkpointing(event, run, when, True)


def _same_run(event: Event, run: Event) -> bool:
    """Whether it was this run's trainer that switched checkpointing on: the same ``train()`` call, on the same way through the script."""
    return event.started_by is run.site.node and event.calls == run.site.calls


@dataclass(frozen=True)
class Frozen:
    """Why nothing of a model is trainable in a run: the event that left it so, and in which case."""

    event: Event
    run: Event
    case: Case
    happens: Condition


FREEZERS = ("adapter_loaded", "wrapped", "frozen", "merged", "disabled", "merged_in_place")


def frozen(life: ModelLife) -> Iterator[Frozen]:
    """Each event that leaves nothing trainable in the model when it trains, and that nothing afterwards undoes."""
    for run in trained(life):
        for event in life.all(*FREEZERS, before=run.order):
            when = freezes(life, event)
            happens = possible(run.when, event.when, when) if when is not None else None
            if happens is None:
                continue
            case = escape(happens, cures(life, event, run))
            if case is not None and case.certain:
                yield Frozen(event, run, case, happens)


def inputs_require_grad(life: ModelLife, found: Frozen) -> bool:
    """Whether the inputs of a frozen model require gradients in its run, so that the backward pass does not fail."""
    return any(possible(found.happens, e.when) is not None for e in life.all("input_grads", "prepared", before=found.run.order))


def freezes(life: ModelLife, event: Event) -> Condition | None:
    """Under which condition an event leaves nothing trainable, ``None`` where it does not."""
    if event.kind == "adapter_loaded":
        return _not_trainable(life, event)
    if event.kind == "wrapped":
        return inference_mode(event.config)
    if event.kind == "frozen":
        return None if event.data.get("partial") else ALWAYS
    if event.kind == "merged":
        return ALWAYS if any(True for _ in life.all("wrapped", "adapter_loaded", before=event.order)) and event.method == "merge_and_unload" else None
    if event.kind == "disabled":
        return ALWAYS if any(True for _ in life.all("wrapped", "adapter_loaded", before=event.order)) else None
    return ALWAYS


def _not_trainable(life: ModelLife, event: Event) -> Condition | None:
    if event.open:
        return None
    if event.by == "PeftModel.load_adapter" and any(True for _ in life.all("wrapped", "adapter_loaded", before=event.order)):
        return None
    value = event.trainable
    if value is ABSENT or (isinstance(value, Const) and not value.value):
        return ALWAYS
    found: list[Condition] = []
    for condition, v in options(value):
        if v is ABSENT or (isinstance(v, Const) and not v.value) or (isinstance(v, Sym) and v.subject.default and not v.subject.default[0]):
            found.append(condition)
    return found[0] if found else None


def inference_mode(config: Value) -> Condition | None:
    """Under which condition an adapter configuration says ``inference_mode=True``; a stored configuration does."""
    for condition, obj in config_objects(config):
        given = obj.slots.get("inference_mode", ABSENT)
        if given is ABSENT:
            if obj.info.get("stored"):
                return condition
            continue
        for inner, v in options(given):
            if isinstance(v, Const) and v.value:
                return both(condition, inner)
            if isinstance(v, Sym) and v.subject.default and v.subject.default[0]:
                return both(condition, inner)
    return None


def cures(life: ModelLife, event: Event, run: Event) -> list[Condition]:
    """When something between an event and a training run makes the model trainable again."""
    found: list[Condition] = []
    for e in life.all(
        "unfrozen",
        "wrapped",
        "adapter_loaded",
        "set_adapter",
        "surgery",
        "escaped",
        "enabled",
        "unmerged",
        "merged",
        before=run.order,
        after=event.order,
    ):
        if e.kind == "wrapped" and inference_mode(e.config) == ALWAYS:
            continue
        if e.kind == "adapter_loaded" and _not_trainable(life, e) == ALWAYS:
            continue
        if e.kind == "merged" and event.kind not in ("adapter_loaded", "wrapped"):
            continue
        if e.kind == "enabled" and event.kind != "disabled":
            continue
        if e.kind == "set_adapter" and event.kind not in ("adapter_loaded", "wrapped", "frozen", "disabled"):
            continue
        found.append(e.when)
    if event.kind in ("disabled",) and event.data.get("scope") == "with":
        found.extend(conditions(life.all("enabled", before=run.order, after=event.order)))
    return found


def lost(back: Backward) -> bool:
    """Whether a backpropagated value surely leads to nothing that could learn: cut off, or attached to wholly frozen models alone."""
    tensor = back.tensor
    if tensor.opaque or not tensor.cuts:
        return False
    return all(_dead(life, back) for life in tensor.attached if life.number >= 0)


def _dead(life: ModelLife, back: Backward) -> bool:
    """Whether a model is frozen as a whole when a value is backpropagated, whatever the settings."""
    if life.kind in ("layer", "input", "outside"):
        return False
    frozen_at = [e for e in life.all("frozen", before=back.order) if not e.data.get("partial") and set(e.when) <= set(back.when)]
    if not frozen_at:
        return False
    undone = life.all(
        "unfrozen", "wrapped", "adapter_loaded", "set_adapter", "surgery", "escaped", "optimized", before=back.order, after=frozen_at[-1].order
    )
    return not any(True for _ in undone)


def culprit(back: Backward) -> Cut | None:
    """Of all cuts behind a value that is cut off from every model, the one to blame: a model that is meant to learn was lost there."""

    def learner(cut: Cut) -> bool:
        return any(e.kind in ("wrapped", "optimized") for life in cut.lost for e in life.events)

    ranked = sorted(back.tensor.cuts, key=lambda c: (learner(c), c.order))
    return ranked[-1] if ranked else None


def is_optimized(life: ModelLife, run: Event, happens: Condition) -> bool:
    """Whether an optimizer was given the model's parameters before a run, in a case in which the run happens."""
    return any(compatible(e.when, happens) for e in life.all("optimized", before=run.order))


def partners(recipe: Recipe, run: Event, life: ModelLife, happens: Condition) -> list[ModelLife]:
    """Other lives that are trained at the same place."""
    return [
        x
        for x in recipe.models
        if x is not life and any(e.site.node is run.site.node and compatible(e.when, happens) for e in x.events if e.kind == "trained")
    ]


def learns_elsewhere(recipe: Recipe, run: Event, life: ModelLife, happens: Condition = ALWAYS) -> bool:
    """Whether something else that is trainable learns in the same run, or may do so."""
    optimized = is_optimized(life, run, happens)
    if run.data.get("opaque") and not optimized:
        return True
    for other in partners(recipe, run, life, happens):
        if other.kind == "layer" and other.trainable:
            return True
        if other.kind not in ("layer", "input") and not any(f.run.site.node is run.site.node for f in frozen(other)):
            return True
    return False


def same_path(a: Value, b: Value) -> bool:
    """Whether two values surely are the same path."""
    if isinstance(a, Const) and isinstance(b, Const):
        return isinstance(a.value, str) and isinstance(b.value, str) and a.value.rstrip("/") == b.value.rstrip("/")
    return isinstance(a, Sym) and isinstance(b, Sym) and a.subject is b.subject


def story(*parts: tuple[Event | None, str]) -> list[tuple[Site, str]]:
    """Steps of the dataflow from events in order."""
    known = [(e, text) for e, text in parts if e is not None]
    return [(e.site, text) for e, text in sorted(known, key=lambda p: p[0].order)]


def loaded(life: ModelLife) -> Event | None:
    """The event of the load."""
    return next(life.all("loaded"), None)


def argument(event: Event, name: str) -> cst.Arg | None:
    """The keyword argument of that name in the call of an event, as written."""
    call = event.site.node
    if not isinstance(call, cst.Call):
        return None
    return next((a for a in call.args if a.keyword is not None and a.keyword.value == name), None)


def argument_site(event: Event, name: str) -> Site:
    """Where an argument of an event's call is written; the call itself where it is not one of its keywords."""
    arg = argument(event, name)
    return replace(event.site, node=arg) if arg is not None else event.site


def ignores(write: LabelWrite) -> bool:
    """Whether a write takes labels away."""
    return isinstance(write.value, Const) and write.value.value == -100


def labelled_again(recipe: Recipe, write: LabelWrite) -> bool:
    """Whether other labels may be put back after a write: into the same tensor, or into a part of it that the script takes."""
    later = (w for w in recipe.label_writes if w.tensor is write.tensor and w.order > write.order)
    return write.tensor in recipe.viewed or any(not ignores(w) for w in later)


def clearest(candidates: Iterable[tuple[Condition, Thing]]) -> tuple[Case, Thing] | None:
    """Of several ways to one fault, each with when it happens, the first that happens by default, else the first; ``None`` where none is certain."""
    best: tuple[Case, Thing] | None = None
    for when, thing in candidates:
        case = escape(when, [])
        if case is not None and case.certain and (best is None or (case.by_default and not best[0].by_default)):
            best = case, thing
    return best
