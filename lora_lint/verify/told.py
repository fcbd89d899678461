"""The step in words: what was run on what, how far it got, what stood in for what, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lora_lint.verify.seen import ModelSeen, Seen

_SHOWN = ("torch", "transformers", "peft", "trl", "accelerate", "bitsandbytes")
_MOST = 6  # entries of a list


def told(name: str, seen: Seen, confinement: Sequence[str] = ()) -> list[str]:
    """Lines about the run of a script; the first one says how it ended."""
    lines = [f"{name}: {_end(seen)}" + (f", in {seen.time['total']:.1f} s" if seen.time and "total" in seen.time else "") + _memory(seen)]
    versions = seen.versions or {}
    known = [f"{library} {versions[library]}" for library in _SHOWN if library in versions]
    if known or seen.device:
        lines.append("on " + ", ".join([*known, seen.device] if seen.device else known))
    lines += [line for line in (_model(seen.judged), _loss(seen), _gradients(seen), _optimizer(seen)) if line]
    replaced = [f"{one.what} {one.id or ''}{_at(one.line)} by {one.by}".replace("  ", " ") for one in seen.replaced]
    if replaced:
        lines.append(f"replaced: {_listed(replaced)}")
    off = [f"{one.what}{_at(one.line)}" for one in seen.off]
    if off:
        lines.append(f"left out: {_listed(off)}")
    missing = [text for text in confinement if text.startswith("not:")]
    if missing:
        lines.append(f"confinement: {'; '.join(missing)}")
    return lines


def _end(seen: Seen) -> str:
    if seen.done:
        return "one training step done"
    if seen.end == "step":
        return "an optimizer step without a backward pass"
    if seen.exception is not None and seen.end in ("exception", "exit"):
        line = seen.failing_line
        by = "in what --verify puts in for the real thing" if seen.exception.ours else seen.exception.stage or "before the step"
        return f"stopped{f' at line {line}' if line else ''}, {by}: {seen.exception.text}"
    return " ".join((seen.detail or seen.end).split())


def _memory(seen: Seen) -> str:
    return f" and {seen.memory_mb:.0f} MB" if seen.memory_mb else ""


def _model(model: ModelSeen | None) -> str:
    if model is None:
        return ""
    parts = [f"model: {model.cls}" + (f" in {model.wrapped}" if model.wrapped else "")]
    if model.quantized:
        parts.append(f"{model.quantized} bits")
    if model.trainable is not None and model.parameters is not None:
        parts.append(f"{model.trainable} of {model.parameters} tensors train")
    if model.devices:
        parts.append(f"on {', '.join(model.devices)}")
    if model.checkpointing:
        kind = {True: "reentrant", False: "non-reentrant", None: "of the default kind"}[model.reentrant]
        parts.append(f"checkpointing {kind}")
    return ", ".join(parts)


def _loss(seen: Seen) -> str:
    backward = seen.backward
    if backward is None:
        return ""
    parts = [f"loss: {backward.value:.4g}" if backward.value is not None else "loss: not read", backward.dtype.removeprefix("torch.")]
    parts.append(f"from {backward.grad_fn}" if backward.grad_fn else "without a graph")
    if backward.finite is False:
        parts.append("not finite")
    return ", ".join(part for part in parts if part)


def _gradients(seen: Seen) -> str:
    found = seen.gradients
    if found is None:
        return ""
    text = f"gradients: {found.with_grad} of {found.trainable} trainable tensors"
    if found.adapters:
        text += f", {found.adapters_with_grad} of {found.adapters} of the adapters"
    if found.base_trainable:
        text += f"; {found.base_trainable} trainable tensors belong to the base"
    return text


def _optimizer(seen: Seen) -> str:
    made, update = seen.optimizer, seen.update
    if made is None:
        return ""
    text = f"optimizer: {made.cls} holds {made.held or 0} tensors"
    if made.trainable_missing:
        text += f", {made.trainable_missing} that train are in none"
    if update is not None and update.changed is not None:
        text += f"; the step changed {update.changed}" + (f", {update.base_changed} of them of the base" if update.base_changed else "")
    return text


def _at(line: int | None) -> str:
    return f" (line {line})" if line else ""


def _listed(texts: Iterable[str]) -> str:
    unique = list(dict.fromkeys(texts))
    return "; ".join(unique[:_MOST]) + (f"; and {len(unique) - _MOST} more" if len(unique) > _MOST else "")
