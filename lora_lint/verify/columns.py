"""Which columns of its data a script reads, from its text: so that rows which stand in for data have them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

_LOADERS = ("load_dataset", "load_from_disk", "from_json", "from_csv", "from_parquet")
_ROWWISE = ("map", "filter", "flat_map", "apply")
# Methods that name columns, and how many of their arguments do.
_NAMED = {"rename_column": 1, "remove_columns": None, "select_columns": None, "class_encode_column": 1, "sort": 1, "unique": 1}
_FIELDS = ("dataset_text_field", "text_column", "label_column", "prompt_column", "messages_field")
_SPLITS = ("train", "test", "validation", "valid", "val", "dev", "eval", "unsupervised")
_COLLATES = ("collate_fn", "data_collator")
_TOKENS = ["input_ids", "attention_mask", "labels"]
_TOKENIZING = ("map", "set_transform", "with_transform", "from_generator")
_DEEP = 3  # functions that are followed into each other

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass
class Columns:
    """Columns that are read: of each dataset, by the line of the call that loads it, and of whatever data."""

    by_line: dict[int, list[str]] = field(default_factory=dict)
    anywhere: list[str] = field(default_factory=list)

    def add(self, lines: Iterable[int], names: Iterable[str]) -> None:
        """Columns of the datasets loaded on these lines."""
        for name in names:
            for known in [self.anywhere, *(self.by_line.setdefault(line, []) for line in lines)]:
                if name not in known:
                    known.append(name)


def read_columns(tree: ast.Module) -> Columns:
    """The columns that a script reads, as far as its text names them, in the order of reading."""
    reader = _Reader(tree)
    reader.run(tree)
    return reader.found


class _Reader:
    """Goes through a script in the order of its text, and keeps in mind which names hold a dataset, and which columns the script itself makes."""

    def __init__(self, tree: ast.Module) -> None:
        self.found = Columns()
        self._functions = {node.name: node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self._held: dict[str, frozenset[int]] = {}
        self._made: set[str] = set()
        self._changed: set[int] = set()  # lines of loads whose rows go through a function
        self._trainers = {"Trainer", "Seq2SeqTrainer", "DataLoader"}
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            if any(_name(base) in self._trainers for base in node.bases):
                self._trainers.add(node.name)

    def run(self, tree: ast.Module) -> None:
        nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Call, ast.Subscript, ast.For, ast.ClassDef))]
        nodes.sort(key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))  # of a chain of calls, the inner ones first
        for node in nodes:
            if isinstance(node, ast.Assign):
                self._assign(node.targets, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._assign([node.target], node.value)
        for node in nodes:
            if isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Subscript):
                self._direct(node)
            elif isinstance(node, ast.For):
                lines = self._lines(node.iter)
                if lines is not None and isinstance(node.target, ast.Name):
                    self._add(lines, _reads(node.body, node.target.id))
            elif isinstance(node, ast.ClassDef):
                self._items(node)

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        lines = self._lines(value)
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                name = _name(part)
                if lines is not None and name:
                    self._held[name] = self._held.get(name, frozenset()) | lines

    def _lines(self, value: ast.expr) -> frozenset[int] | None:
        """The lines of the loads whose data an expression holds; ``None`` where it holds no dataset."""
        if isinstance(value, (ast.Name, ast.Attribute)) and _name(value) in self._held:
            return self._held[_name(value)]
        if isinstance(value, ast.Subscript):
            return self._lines(value.value)
        if isinstance(value, (ast.IfExp, ast.BoolOp, ast.Tuple, ast.List)):
            parts = value.values if isinstance(value, ast.BoolOp) else value.elts if not isinstance(value, ast.IfExp) else [value.body, value.orelse]
            return _union(self._lines(part) for part in parts)
        if isinstance(value, ast.Call):
            name = _name(value.func)
            if name in _LOADERS:
                return frozenset({value.lineno})
            if isinstance(value.func, ast.Attribute):
                lines = self._lines(value.func.value)
                if lines is not None:
                    return lines
            return _union(self._lines(part) for part in value.args) if name in ("concatenate_datasets", "interleave_datasets") else None
        return None

    def _call(self, node: ast.Call) -> None:
        self._given(node)
        for keyword in node.keywords:
            if keyword.arg in _FIELDS and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                self._add(frozenset(), [keyword.value.value])
            if keyword.arg == "formatting_func":
                data = next((k.value for k in node.keywords if k.arg == "train_dataset"), None)
                self._function((self._lines(data) if data is not None else None) or frozenset(), keyword.value, makes=False)
            if keyword.arg in _COLLATES:
                self._function(frozenset(), keyword.value, makes=False)
        if not isinstance(node.func, ast.Attribute):
            return
        lines = self._lines(node.func.value)
        name = node.func.attr
        if name in _TOKENIZING:
            self._changed.update(lines or ())
        if name in _ROWWISE:
            function = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "function"), None)
            if function is not None:
                self._function(lines or frozenset(), function, makes=name == "map")
        if lines is None or name not in _NAMED:
            return
        given = node.args[: _NAMED[name]] or [k.value for k in node.keywords if k.arg in ("column_names", "original_column_name", "column")]
        self._add(lines, [text for argument in given for text in _texts(argument)])
        if name == "rename_column":
            self._made.update(text for argument in node.args[1:2] for text in _texts(argument))

    def _given(self, node: ast.Call) -> None:
        """Data that a trainer which does not tokenize gets as it was loaded: it is tokenized already, unless a function of the script batches it."""
        collates = [keyword.value for keyword in node.keywords if keyword.arg in _COLLATES]
        if _name(node.func) not in self._trainers or any(isinstance(f, ast.Lambda) or _name(f) in self._functions for f in collates):
            return
        data = next((k.value for k in node.keywords if k.arg in ("train_dataset", "dataset")), None)
        if data is None and node.args and _name(node.func) == "DataLoader":
            data = node.args[0]
        lines = self._lines(data) if data is not None else None
        if lines and not lines & self._changed and not any(self.found.by_line.get(line) for line in lines):
            self.found.add(lines, _TOKENS)

    def _function(self, lines: frozenset[int], value: ast.expr, *, makes: bool) -> None:
        """What a function that gets rows reads, and the columns that it adds to them."""
        if isinstance(value, ast.Call) and _name(value.func) == "partial" and value.args:
            value = value.args[0]
        function: Function | None = value if isinstance(value, ast.Lambda) else self._functions.get(_name(value))
        if function is None:
            return
        parameters = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
        if not parameters:
            return
        body: list[ast.stmt] | list[ast.expr] = [function.body] if isinstance(function, ast.Lambda) else function.body
        self._add(lines, self._followed(body, parameters[0], _DEEP))
        if makes:
            self._made.update(_given_back(body, parameters[0]))

    def _followed(self, body: Sequence[ast.AST], name: str, depth: int) -> list[str]:
        found = _reads(body, name)
        for call in (node for part in body for node in ast.walk(part) if isinstance(node, ast.Call)):
            function = self._functions.get(_name(call.func)) if depth else None
            if function is None:
                continue
            parameters = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
            for parameter, argument in zip(parameters, call.args, strict=False):
                if isinstance(argument, ast.Name) and argument.id == name:
                    found += self._followed(function.body, parameter, depth - 1)
        return found

    def _direct(self, node: ast.Subscript) -> None:
        """``data["text"]`` and ``data["train"][0]["text"]``; the name of a split is no column."""
        lines = self._lines(node.value)
        if lines is not None and isinstance(node.ctx, ast.Load):
            self._add(lines, [text for text in _texts(node.slice) if text.partition("_")[0] not in _SPLITS])

    def _items(self, node: ast.ClassDef) -> None:
        """The rows that a dataset class of the script hands out: ``row = self.data[index]``."""
        for method in (part for part in node.body if isinstance(part, ast.FunctionDef) and part.name in ("__getitem__", "__iter__")):
            for part in ast.walk(method):
                value, target = (part.value, part.targets[0]) if isinstance(part, ast.Assign) else (None, None)
                if isinstance(part, ast.For):
                    value, target = part.iter, part.target
                whole = value.value if isinstance(value, ast.Subscript) else value
                if isinstance(target, ast.Name) and isinstance(whole, ast.Attribute) and _name(whole.value) == "self":
                    self._add(self._held.get(whole.attr, frozenset()), _reads(method.body, target.id))
                row = part.value.value if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Subscript) else None
                if isinstance(part, ast.Subscript) and isinstance(row, ast.Attribute) and _name(row.value) == "self":
                    self._add(self._held.get(row.attr, frozenset()), _texts(part.slice))

    def _add(self, lines: frozenset[int], names: Iterable[str]) -> None:
        self.found.add(lines, [name for name in names if name not in self._made])


def _reads(body: Sequence[ast.AST], name: str) -> list[str]:
    """The keys that are read from a variable, before anything is stored under them."""
    stored: dict[str, int] = {}
    read: list[tuple[int, int, str]] = []
    for part in body:
        for node in ast.walk(part):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
                for text in _texts(node.slice):
                    if isinstance(node.ctx, ast.Load):
                        read.append((node.lineno, node.col_offset, text))
                    else:
                        stored[text] = min(node.lineno, stored.get(text, node.lineno))
            elif isinstance(node, ast.comprehension) and _name(node.iter) == name and isinstance(node.target, ast.Name) and node.target.id != name:
                row = node.target.id  # of a batch
                read += [(node.iter.lineno, node.iter.col_offset, text) for text in _reads(body, row)]
            elif _is_get(node, name):
                read += [(node.lineno, node.col_offset, text) for text in _texts(node.args[0])]
    return [text for line, _, text in sorted(read) if text not in stored or line <= stored[text]]


def _is_get(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    """Whether a node is ``name.get(…)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return False
    return node.func.attr in ("get", "pop") and isinstance(node.func.value, ast.Name) and node.func.value.id == name


def _given_back(body: Iterable[ast.AST], name: str) -> set[str]:
    """The keys that a function of rows adds or returns."""
    found: set[str] = set()
    for part in body:
        for node in ast.walk(part):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == name:
                found.update(_texts(node.slice))
            value = node.value if isinstance(node, ast.Return) else part if isinstance(part, ast.expr) and node is part else None
            if isinstance(value, ast.Dict):
                found.update(key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
    return found


def _texts(node: ast.expr) -> list[str]:
    parts = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def _name(node: ast.AST | None) -> str:
    """The last part of a dotted name; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _union(parts: Iterator[frozenset[int] | None]) -> frozenset[int] | None:
    known = [part for part in parts if part is not None]
    return frozenset().union(*known) if known else None
