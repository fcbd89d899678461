"""Tokenizers, the datasets and collators that use them, and what is known of the tokenizers of well-known checkpoints.

From the text to the labels: a tokenizer's call leaves a :class:`~lora_lint.recipe.events.Tokens` record, its result carries it on. A function that is
given to ``dataset.map`` is executed on a row, a collator on a list of rows where its trainer trains.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lora_lint.libraries import torch
from lora_lint.libraries.registry import METHODS, attribute, method
from lora_lint.recipe.conditions import Subject
from lora_lint.recipe.events import Data, Family, LabelWrite, Tokens
from lora_lint.recipe.values import (
    ABSENT,
    CPU,
    FALSE,
    NONE,
    REST,
    TRUE,
    Bound,
    Const,
    Dict,
    Func,
    Ids,
    Inst,
    Method,
    Obj,
    Seq,
    Sym,
    Tensor,
    Value,
    options,
    unknown,
)

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.interpreter import Call, Interpreter

# What from_pretrained takes and the tokenizer then has as attributes.
SETTINGS = ("padding_side", "pad_token", "eos_token", "bos_token", "add_eos_token", "add_bos_token", "chat_template")
METHOD_NAMES = ("decode", "batch_decode", "save_pretrained", "add_tokens", "convert_tokens_to_ids", "push_to_hub")
# Keywords of a call after which the result has no entries but ids and masks.
PLAIN = frozenset(
    ("text", "text_pair", "truncation", "padding", "max_length", "return_tensors", "add_special_tokens", "return_attention_mask", "padding_side")
)
PADS = ("pad_token", "pad_token_id")


# As the owners publish them; copies that others publish may have another padding token.
FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"^meta-llama/(meta-)?llama-3.*instruct", Family(bos=True, pad=False, side="right", eos=True)),
    (r"^meta-llama/(meta-)?llama-3", Family(bos=True, pad=False, side="right")),
    (r"^meta-llama/llama-2.*chat", Family(bos=True, pad=False, eos=True)),
    (r"^meta-llama/llama-2", Family(bos=True, pad=False)),
    (r"^mistralai/(mistral-7b|mixtral-8x7b).*instruct", Family(bos=True, pad=False, eos=True)),
    (r"^mistralai/(mistral-7b|mixtral-8x7b)", Family(bos=True, pad=False)),
    (r"^google/gemma-", Family(bos=True, pad=True, side="left")),
    (r"^qwen/qwen(1\.5|2|2\.5|3)-[\d.]+b", Family(bos=False, pad=True, side="right")),
    (r"^(openai-community/)?gpt2(-medium|-large|-xl)?$|^(distilbert/)?distilgpt2$", Family(bos=False, pad=False, side="right")),
    (r"^eleutherai/(pythia|gpt-neo-|gpt-j)", Family(bos=False, pad=False, side="right")),
    (r"^facebook/opt-", Family(pad=True, side="right")),
)


def family(tokenizer: Obj) -> Family:
    """The family of the checkpoint that a tokenizer comes from; one that says nothing where that is not known."""
    checkpoint = tokenizer.info.get("checkpoint", ABSENT)
    names = {str(v.value) for _, v in options(checkpoint) if isinstance(v, Const)}
    names |= {str(v.subject.default[0]) for _, v in options(checkpoint) if isinstance(v, Sym) and v.subject.default}
    if len(names) != 1:
        return Family()
    name = names.pop()
    return next((known for pattern, known in FAMILIES if re.match(pattern, name, re.I)), Family())


# -------------------------------------------------------------------- tokenizers
def made(call: Call, cls: str) -> Obj:
    """A tokenizer, with what the keywords of its loader say."""
    slots = {name: call.kwargs[name] for name in SETTINGS if name in call.kwargs}
    tokenizer = Obj("tokenizer", slots, call.site, cls, {"checkpoint": call.get("pretrained_model_name_or_path", 0)})
    if call.open:
        tokenizer.slots["hidden"] = TRUE
    tokenizer.info["family"] = family(tokenizer)
    if "pad_token" in slots:
        tokenizer.info["pad_site"] = call.site_of("pad_token")
    elif family(tokenizer).pad is False and not call.open:
        tokenizer.slots["pad_token"] = NONE
    if "padding_side" in slots:
        tokenizer.info["side_site"] = call.site_of("padding_side")
    return tokenizer


def set_attribute(m: Interpreter, owner: Obj, name: str, value: Value, node: cst.CSTNode) -> None:
    """``tokenizer.pad_token = …``, by name or by id."""
    m.store(owner.slots, name, value)
    if name in PADS:
        m.store(owner.slots, "pad_token", value)
        owner.info["pad_site"] = m.site(node)
    if name == "padding_side":
        owner.info["side_site"] = m.site(node)


def escaped(m: Interpreter, value: Value) -> None:
    """A tokenizer went to code that we cannot see, which may set it up otherwise."""
    for _, v in options(value):
        if isinstance(v, Obj) and v.kind == "tokenizer":
            m.store(v.slots, "hidden", TRUE)


def side_of(tokenizer: Obj) -> Value:
    """Where the tokenizer pads, as it is set up now; ABSENT where the checkpoint decides and is not known."""
    if tokenizer.slots.get("hidden", ABSENT) is not ABSENT:
        return unknown("padding_side", declared=False)
    given = tokenizer.slots.get("padding_side", ABSENT)
    if given is ABSENT and (side := family(tokenizer).side):
        return Const(side)
    return given


def pad_of(tokenizer: Obj) -> Value:
    """What the tokenizer pads with, as it is set up now."""
    if tokenizer.slots.get("hidden", ABSENT) is not ABSENT:
        return unknown("pad_token", declared=False)
    return tokenizer.slots.get("pad_token", ABSENT)


def tokenize(call: Call) -> Value:
    """Text to ids: as lists, or as tensors with one row for each text."""
    m = call.m
    owner = call.owner
    assert isinstance(owner, Obj)
    wanted = call.get("return_tensors")
    shaped = wanted not in (ABSENT, NONE)
    text = call.get("text", 0)
    side = call.get("padding_side")
    record = Tokens(
        owner,
        text,
        call.get("padding"),
        side_of(owner) if side is ABSENT else side,
        call.get("add_special_tokens"),
        shaped,
        call.open,
        call.site,
        m.pc,
        m.tick(),
    )
    m.recipe.tokens.append(record)
    if shaped:
        batch = torch.batch(m, CPU, call.node)
        held = batch.slots[""]
        assert isinstance(held, Tensor)
        batch.slots[""] = replace(held, tokens=record)
        return batch
    ids = Ids(Subject("ids"), tokens=record)
    lists = Dict({"input_ids": ids, "attention_mask": unknown("attention_mask")})
    if call.open or not set(call.kwargs) <= PLAIN:
        lists.slots[REST] = unknown("lists")
    return lists


@method("tokenizer", "__call__", "batch_encode_plus", "encode_plus")
def _call(call: Call) -> Value:
    return tokenize(call)


@method("tokenizer", "pad", "prepare_for_model", "process")
def _pad(call: Call) -> Value:
    if call.get("return_tensors") in (ABSENT, NONE):
        return Dict({REST: unknown("lists")})
    return torch.batch(call.m, CPU, call.node)


@method("tokenizer", "encode")
def _encode(call: Call) -> Value:
    encoded = tokenize(call)
    if isinstance(encoded, Dict):
        return encoded.slots["input_ids"]
    return torch.entry_of(call.m, encoded) if isinstance(encoded, Obj) else encoded


@method("tokenizer", "apply_chat_template")
def _template(call: Call) -> Value:
    """A conversation to text, or straight to ids."""
    m = call.m
    owner = call.owner
    assert isinstance(owner, Obj)
    if call.get("tokenize", 2) is FALSE:
        return Obj("text", {}, call.site, info={"prefix": "", "chat": owner, "template": owner.slots.get("chat_template", ABSENT)})
    if call.get("return_tensors") in (ABSENT, NONE):
        return unknown("ids")
    if call.get("return_dict") is TRUE:
        return torch.batch(m, CPU, call.node)
    return Tensor(device=CPU, site=call.site)


@method("tokenizer", "add_special_tokens")
def _add_special_tokens(call: Call) -> Value:
    """``tokenizer.add_special_tokens({"pad_token": "[PAD]"})``."""
    m = call.m
    owner = call.owner
    assert isinstance(owner, Obj)
    for _, given in options(call.get("special_tokens_dict", 0)):
        if not isinstance(given, Dict) or REST in given.slots:
            m.store(owner.slots, "hidden", TRUE)
        elif "pad_token" in given.slots:
            set_attribute(m, owner, "pad_token", given.slots["pad_token"], call.node)
    return unknown("number of tokens")


@method("tokenizer", "*")
def _method(call: Call) -> Value:
    return unknown(f"tokenizer.{call.name}(…)")


@attribute("tokenizer", "*")
def _attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    if name in ("tokenizer", "image_processor", "feature_extractor"):
        return owner
    if ("tokenizer", name) in METHODS or name in METHOD_NAMES:
        return Bound(owner, name)
    # whether a checkpoint has a padding token is not for the user to choose
    return m.derive((".", id(owner), name), f"tokenizer.{name}", declared=name not in PADS)


# -------------------------------------------------------------------- text
@method("text", "strip", "rstrip", "lstrip")
def _strip(call: Call) -> Value:
    assert call.owner is not None
    return call.owner


# -------------------------------------------------------------------- datasets
def mapped(call: Call, row: Value | None) -> Value | None:
    """``dataset.map(function)``: the function is executed on a row; ``None`` where it is none of the project's."""
    m = call.m
    function = call.get("function", 0)
    if len(call.args) > 1 or (not isinstance(function, (Func, Method, Inst)) and not (isinstance(function, Obj) and function.kind == "partial")):
        return None
    inner = type(call)(m, call.node, "map")
    inner.args = [row if row is not None else unknown("row")]
    if call.get("with_indices") is TRUE:
        inner.args.append(unknown("index"))
    keywords = call.get("fn_kwargs")
    if isinstance(keywords, Dict):
        inner.kwargs = {str(k): v for k, v in keywords.slots.items() if k != REST}
        inner.open = REST in keywords.slots
    elif keywords not in (ABSENT, NONE):
        inner.open = True
    result = m.call(function, inner)
    removed = call.get("remove_columns")
    alone = isinstance(removed, Sym) and removed.text.endswith((".column_names", ".features", ".column_names[…]"))
    alone = alone or (isinstance(removed, Sym) and ".column_names[" in removed.text)
    return Obj("dataset", {"row": _joined(m, result, None if alone else row, alone)}, call.site)


def _joined(m: Interpreter, result: Value, row: Value | None, alone: bool) -> Value:
    """The new row: what the function returned, over the columns that were there and are not removed."""
    if not isinstance(result, Dict):
        return result if isinstance(result, Obj) and result.kind == "encoding" else unknown("row")
    joined = Dict(dict(row.slots) if isinstance(row, Dict) else {})
    joined.slots.update({k: v for k, v in result.slots.items() if v is not ABSENT})
    if not alone and not isinstance(row, Dict):
        joined.slots.setdefault(REST, unknown("columns"))
    return joined


@method("dataset", "map")
def _map(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    return mapped(call, owner.slots["row"]) or Obj("dataset", {"row": unknown("row")}, call.site)


@method("dataset", "set_format", "with_format")
def _format(call: Call) -> Value:
    if "device" in call.kwargs:
        call.m.recipe.default_device = True
    return call.owner if call.name == "with_format" and call.owner is not None else NONE


@method("dataset", "add_column", "rename_column", "rename_columns", "remove_columns", "select_columns", "cast", "to_pandas", "to_list", "to_dict")
def _columns(call: Call) -> Value:
    return Obj("dataset", {"row": unknown("row")}, call.site)


@method("dataset", "*")
def _dataset_method(call: Call) -> Value:
    """What leaves the rows as they are: filter, shuffle, select, train_test_split …"""
    assert call.owner is not None
    return call.owner


@attribute("dataset", "*")
def _dataset_attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    if name in ("column_names", "features", "num_rows", "info", "n_shards", "shape", "format"):
        return m.derive((".", id(owner), name), f"dataset.{name}")
    return Bound(owner, name)


# -------------------------------------------------------------------- collators and labels
def training_data(m: Interpreter, trainer: Obj, column: Value, call: Call) -> Data:
    """What a trainer trains on; the script's own functions for that are executed on a row. ``column`` is where the trainer looks for text."""
    row = row_of(m, trainer.info.get("rows", ABSENT), call.node)
    collator, formatting = trainer.info.get("collator", ABSENT), trainer.info.get("keywords", {}).get("formatting_func", ABSENT)
    text: Value = ABSENT
    if formatting not in (ABSENT, NONE):
        text = _applied(m, formatting, row, call)
    elif isinstance(row, Dict):
        text = row.slots.get(column.value if isinstance(column, Const) else "text", ABSENT)
    batch = _applied(m, collator, Seq.of([], "list", row), call)
    tokenizer = collator.info.get("tokenizer", ABSENT) if isinstance(collator, Obj) else ABSENT
    if not isinstance(tokenizer, Obj):
        tokenizer = trainer.info.get("tokenizer", ABSENT)
    if not isinstance(tokenizer, Obj):
        return Data(row, text, batch, None, ABSENT, ABSENT)
    return Data(row, text, batch, tokenizer, pad_of(tokenizer), tokenizer.slots.get("chat_template", ABSENT))


def _applied(m: Interpreter, function: Value, argument: Value, call: Call) -> Value:
    """The result of a function of the project's on one argument; ABSENT where it is none."""
    if not runs(function):
        return ABSENT
    inner = type(call)(m, call.node, "data")
    inner.args = [argument]
    return m.call(function, inner)


def runs(function: Value) -> bool:
    """Whether a value is a function of the project's."""
    return isinstance(function, (Func, Method, Inst)) or (isinstance(function, Obj) and function.kind == "partial")


def row_of(m: Interpreter, rows: Value, node: cst.CSTNode) -> Value:
    """A row of a dataset, as far as it is known."""
    if isinstance(rows, Obj) and rows.kind == "dataset":
        return rows.slots["row"]
    return m.element(rows, node) if isinstance(rows, Inst) else unknown("row")


def written(m: Interpreter, labels: Tensor, key: Value, value: Value, node: cst.CSTNode) -> None:
    """``labels[key] = value`` where the labels are the ids that a tokenizer made."""
    if labels.tokens is not None:
        m.recipe.label_writes.append(LabelWrite(labels, key, value, pad_of(labels.tokens.tokenizer), m.site(node), m.pc, m.tick()))
