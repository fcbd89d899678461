"""Fixes as exact edits of the source text.

Every operation takes LibCST nodes of ``source.module`` and answers with an ``Edit`` on byte ranges of ``source.data``, so that nothing but
the text that has to change is touched. Where the result would not surely be right, the operation answers ``None``, and the finding has no fix.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import libcst as cst

from lora_lint.findings import Edit
from lora_lint.source import Source

# What may stand between the end of a statement and the end of its line.
_REST_OF_LINE = re.compile(rb"(?:[ \t\f;]|\\(?:\r\n|\r|\n))*(?:#[^\r\n]*)?(\r\n|\r|\n|\Z)")
_BLANKS = re.compile(rb"[ \t\f]*")
_COMMENT = re.compile(rb"[ \t\f]*#[^\r\n]*")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_WORD = re.compile(r"\w")
# Expressions that may stand anywhere without parentheses.
_PRIMARY = (
    cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString, cst.FormattedString, cst.Ellipsis,
    cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp,
)  # fmt: skip
# Expressions that need parentheses nearly everywhere, and the places in which any other expression needs none.
_LOOSE = (cst.Tuple, cst.GeneratorExp, cst.Yield, cst.NamedExpr, cst.StarredElement)
_OPEN = (cst.Arg, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return, cst.Expr, cst.Element, cst.DictElement, cst.Param, cst.Index)
_STRINGS = ("SimpleString", "FormattedString", "TemplatedString")
_STRING_HOLES = ("FormattedStringExpression", "TemplatedStringExpression")


def collect(*parts: Edit | Sequence[Edit] | None) -> tuple[Edit, ...] | None:
    """Join the answers of several operations into the edits of one fix; ``None`` when one of them is ``None``."""
    edits: list[Edit] = []
    for part in parts:
        if part is None:
            return None
        edits.extend([part] if isinstance(part, Edit) else part)
    return tuple(edits)


@dataclass(frozen=True)
class _Element:
    """One element of a comma-separated list: its byte range and the end of the comma behind it."""

    start: int
    end: int
    comma: int | None

    @property
    def stop(self) -> int:
        return self.end if self.comma is None else self.comma


@dataclass(frozen=True)
class _Import:
    """One name that an import binds: ``text`` is how to write what ``origin`` names, and it starts with the bound name."""

    text: str
    origin: str
    scope: cst.CSTNode | None
    line: cst.SimpleStatementLine | None

    @property
    def bound(self) -> str:
        return self.text.partition(".")[0]


class Editor:
    """Makes edits of one file from nodes of its ``source.module``; raises ``SourceError`` (from ``source``) when the file does not parse."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._data = source.data

    # --- expressions -------------------------------------------------------------------------------------------------------------------------

    def replace(self, node: cst.CSTNode, text: str) -> Edit | None:
        """Write ``text`` in place of a node; an expression is put into parentheses where it would else bind differently.

        ``None`` inside an f-string when the text has quotes, backslashes or comments, which Python before 3.12 does not take there.
        """
        if not self._exact or (self._in_string(node) and re.search(r"['\"\\#\n]", text)):
            return None
        if isinstance(node, cst.BaseExpression):
            if self._needs_parentheses(node, text):
                text = f"({text})"
            start, end = self._range(node)
            return self._glued(start, end, text)
        return self.replace_range(*self._range(node), text)

    def replace_range(self, start: int, end: int, text: str) -> Edit:
        """Write ``text`` in place of the bytes ``start:end``, with the file's own line endings."""
        return Edit(start, end, text.replace("\r\n", "\n").replace("\n", self._source.newline))

    def remove_method_call(self, call: cst.Call) -> Edit | None:
        """Turn ``x.detach()`` into ``x``; ``None`` when it is no method call or a comment would be lost."""
        if not self._exact or not isinstance(call.func, cst.Attribute) or call.func.lpar:
            return None
        start, end = self._whole(call.func.value)[1], self._range(call)[1]
        if any(
            isinstance(n, cst.Comment)
            for part in (call.func.dot, call.whitespace_after_func, call.whitespace_before_args, *call.args)
            for n in _walk(part)
        ):
            return None
        return self._glued(start, end, "")

    def add_keyword(self, call: cst.Call, keyword: str) -> Edit | None:
        """Add ``name=value`` behind the last argument, in the style of the call (one per line, trailing comma).

        ``None`` when the call may pass that keyword already: it does so by name, or has ``*args`` or a ``**kwargs`` whose keys are not known.
        """
        name = keyword.partition("=")[0].strip()
        if not self._exact or self._in_string(call) or any(_may_pass(arg, name) for arg in call.args):
            return None
        if not call.args:
            opening = self._opening(call)
            return None if opening is None else self.replace_range(opening, opening, keyword)
        if len(call.args) == 1 and isinstance(call.args[0].value, cst.GeneratorExp) and not call.args[0].value.lpar:
            return None
        return self._append([self._element(arg) for arg in call.args], keyword, own_line=True)

    def add_entry(self, element: cst.DictElement, text: str) -> Edit | None:
        """Add ``key: value`` behind the last entry of the dictionary that holds an entry, in its style; ``None`` where ``**`` is among them."""
        holder = self._parents.get(element)
        if not self._exact or not isinstance(holder, cst.Dict) or self._in_string(holder):
            return None
        entries = [e for e in holder.elements if isinstance(e, cst.DictElement)]
        if len(entries) != len(holder.elements):
            return None
        elements = [self._element(e) for e in entries]
        return self._append(elements, text, own_line=self._indent(elements[-1].start) is not None)

    def remove_argument(self, call: cst.Call, arg: cst.Arg) -> Edit | None:
        """Remove one argument with its comma; ``None`` when positional arguments behind it would change their place."""
        index = _index(call.args, arg)
        if index is None or not self._exact:
            return None
        if arg.keyword is None and not arg.star and any(a.keyword is None and a.star != "**" for a in call.args[index + 1 :]):
            return None
        elements = [self._element(a) for a in call.args]
        if len(elements) == 1:
            opening, closing = self._opening(call), self._range(call)[1] - 1
            around = None if opening is None else self._data[opening : elements[0].start] + self._data[elements[0].stop : closing]
            if opening is not None and around is not None and b"#" not in around:
                return Edit(opening, closing, "")
        return self._remove(elements, index)

    def add_parameter(self, function: cst.FunctionDef, text: str) -> Edit | None:
        """Add parameters behind the last positional one; ``None`` where there is none."""
        params = function.params.params
        if not params or not self._exact:
            return None
        last = params[-1]
        end = self._range(last.default if last.default is not None else last.annotation.annotation if last.annotation is not None else last.name)[1]
        return self.replace_range(end, end, f", {text}")

    def remove_import(self, stmt: cst.ImportFrom, alias: cst.ImportAlias) -> Edit | None:
        """Remove one of several names from ``from x import a, b``; ``None`` where it is the only one."""
        if isinstance(stmt.names, cst.ImportStar) or len(stmt.names) < 2 or not self._exact:
            return None
        index = _index(stmt.names, alias)
        return None if index is None else self._remove([self._element(one) for one in stmt.names], index)

    def settled(self, name: str, at: cst.CSTNode) -> bool:
        """Whether a name is bound before a place and not again behind it, so that it means the same there and further down."""
        start = self._range(at)[0]
        places = [self._range(node)[0] for node in _walk(self._source.module) for bound in self._binds(node) if bound == name]
        return bool(places) and all(place < start for place in places)

    # --- statements --------------------------------------------------------------------------------------------------------------------------

    def insert_before(self, stmt: cst.CSTNode, code: str) -> Edit | None:
        """Insert ``code`` (one or more lines without indentation) before a statement, above the comments that stand directly on it.

        ``None`` before a docstring or a ``__future__`` import, and where ``code`` does not fit into the line (one-line suites, semicolons).
        """
        place = self._place(stmt)
        if place is None or _has_long_string(code):
            return None
        holder, first, _ = place
        if isinstance(holder, cst.SimpleStatementSuite) or first > 0:
            if not _is_inline(code):
                return None
            at = self._range(_smalls(holder)[first])[0]
            return Edit(at, at, f"{code.strip()}; ")
        if self._opens_with_docstring(holder) or _is_future(holder):
            return None
        start = self._start(holder)
        indent = self._indent(start)
        if indent is None:
            return None
        at = self._above_comments(holder, indent)
        return self.replace_range(at, at, _indented(code, indent) + "\n")

    def insert_after(self, stmt: cst.CSTNode, code: str) -> Edit | None:
        """Insert ``code`` (one or more lines without indentation) after a statement.

        ``None`` after a statement that leaves the block, before a ``__future__`` import, and where ``code`` does not fit into the line.
        """
        place = self._place(stmt)
        if place is None or _has_long_string(code):
            return None
        holder, _, last = place
        smalls = _smalls(holder)
        if smalls and isinstance(smalls[last], (cst.Return, cst.Raise, cst.Break, cst.Continue)):
            return None
        if isinstance(holder, cst.SimpleStatementSuite) or last < len(smalls) - 1:
            if not _is_inline(code):
                return None
            at = self._range(smalls[last])[1]
            return Edit(at, at, f"; {code.strip()}")
        body = _body(self._parents.get(holder))
        following = body[index + 1 :] if (index := _index(body, holder)) is not None else []
        if following and _is_future(following[0]):
            return None
        indent = self._indent(self._start(holder))
        end = self._block_end(holder)
        return None if indent is None or end is None else self._new_line(end, _indented(code, indent))

    def delete_statement(self, stmt: cst.CSTNode) -> Edit | None:
        """Delete a statement with its line; the only statement of a block becomes ``pass``. ``None`` when it is no statement of a block."""
        place = self._place(stmt)
        if place is None:
            return None
        holder, first, last = place
        smalls = _smalls(holder)
        if smalls and last - first < len(smalls) - 1:
            if last < len(smalls) - 1:
                return Edit(self._range(smalls[first])[0], self._range(smalls[last + 1])[0], "")
            return Edit(self._range(smalls[first - 1])[1], self._range(smalls[last])[1], "")
        parent = self._parents.get(holder)
        start = self._start(holder)
        if isinstance(holder, cst.SimpleStatementSuite) or (isinstance(parent, cst.IndentedBlock) and len(parent.body) == 1):
            return Edit(start, self._range(holder)[1], "pass")
        end = self._block_end(holder)
        return None if end is None or self._indent(start) is None else Edit(self._line_start(start), end, "")

    def remove_decorator(self, func: cst.FunctionDef | cst.ClassDef, decorator: cst.Decorator) -> Edit | None:
        """Remove a decorator with its line; ``None`` when it is none of ``func``."""
        if not self._exact or _index(func.decorators, decorator) is None:
            return None
        start = self._line_start(self._range(decorator)[0])
        end = self._line_end(self._range(decorator)[1])
        return None if end is None else Edit(start, end, "")

    def unwrap_with(self, node: cst.With, item_index: int) -> Edit | tuple[Edit, ...] | None:
        """Drop one item of a ``with``; dropping the only one dedents the body.

        ``None`` when the item binds a name, when a comment between the items would be lost, and when the body holds a string over several
        lines, whose contents would change with the indentation.
        """
        items = node.items
        if not self._exact or not 0 <= item_index < len(items) or items[item_index].asname is not None:
            return None
        elements = [self._element(item) for item in items]
        if len(items) == 1:
            return self._unwrap(node)
        if len(items) == 2 and not isinstance(node.lpar, cst.MaybeSentinel):
            # A comma that stayed behind a single item would make a tuple of it on Python 3.8.
            kept = elements[1 - item_index]
            if b"#" in self._data[elements[0].end : elements[1].start] + self._data[elements[1].end : self._closing(node)]:
                return None
            return Edit(elements[0].start, elements[1].stop, self._data[kept.start : kept.end].decode())
        return self._remove(elements, item_index)

    # --- imports -----------------------------------------------------------------------------------------------------------------------------

    def import_name(self, module: str, name: str, at: cst.CSTNode | None = None) -> tuple[str, tuple[Edit, ...]]:
        """How ``name`` of ``module`` is written in this file, and the edits that import it, if any are needed.

        ``at`` is the node at which the name will be used: imports that run only after it are not relied on. Without it, imports at module
        level are taken to have run. Names that the file binds otherwise are left alone: then the module itself is imported. Where the other
        operations answer ``None`` for the whole file (its tree does not write its text), the edits are not to be used either.
        """
        imports, others = self._bindings
        inner = self._functions_around(at)
        before = None if at is None or inner else self._range(at)[0]

        def free(bound: str, origin: str | None) -> bool:
            """Whether nothing else has the name, or only imports of the same thing (``origin`` ``None``: of the package itself)."""
            rivals = [i for i in imports if i.bound == bound]
            same = all(i.origin == (i.text if origin is None else origin) and i.scope not in inner for i in rivals)
            return same and bound not in others

        def ready(found: _Import) -> bool:
            if found.line is None or found.bound in others:
                return False
            end = self._range(found.line)[1]
            if found.scope is not None:
                return found.scope in inner[:1] and at is not None and end < self._range(at)[0] and self._is_clear(found, inner)
            return (before is None or end < before) and self._is_clear(found, inner)

        target = f"{module}.{name}"
        for found in imports:
            if found.origin == target and ready(found):
                return found.text, ()
        if free(name, target):
            for stmt in (small for line in self._import_lines(before) for small in line.body):
                if isinstance(stmt, cst.ImportFrom) and not stmt.relative and _dotted(stmt.module) == module:
                    edit = self._extend_import(stmt, name)
                    if edit is not None:
                        return name, (edit,)
        for found in imports:
            if found.origin == module and ready(found):
                return f"{found.text}.{name}", ()
        if free(name, target):
            return name, (self._new_import(f"from {module} import {name}", module, before),)
        root = module.partition(".")[0]
        if free(root, None):
            return target, (self._new_import(f"import {module}", module, before),)
        alias = module.replace(".", "_") + "_module"
        while alias in others or any(i.bound == alias for i in imports):
            alias += "_"
        return f"{alias}.{name}", (self._new_import(f"import {module} as {alias}", module, before),)

    def _is_clear(self, found: _Import, inner: Sequence[cst.CSTNode]) -> bool:
        """Whether no other import binds the name of ``found`` to something else, or locally around the place of use."""
        for other in self._bindings[0]:
            if other.bound == found.bound and other is not found:
                same = other.origin == found.origin or (("." in found.text) and found.origin.startswith(other.origin + "."))
                same = same or ("." in other.text and other.origin.startswith(found.origin + "."))
                if not same or (other.scope in inner and other.scope is not found.scope):
                    return False
        return True

    @cached_property
    def _bindings(self) -> tuple[list[_Import], set[str]]:
        """The names that imports bind anywhere in the file, and the names that anything else binds (class attributes apart)."""
        imports: list[_Import] = []
        others: set[str] = set()
        for node in _walk(self._source.module):
            if isinstance(node, (cst.Import, cst.ImportFrom)):
                imports.extend(self._imports_of(node))
                continue
            found = set(self._binds(node))
            if found and not isinstance(self._scope(node), cst.ClassDef):
                others |= found
        return imports, others

    def _binds(self, node: cst.CSTNode) -> Iterator[str]:
        """The names that a node other than an import binds."""
        if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Param)):
            return _stored(node.name)
        if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr, cst.Del)):
            return _stored(node.target)
        if isinstance(node, (cst.AsName, cst.MatchAs, cst.MatchStar, cst.TypeAlias)) and not isinstance(self._parents[node], cst.ImportAlias):
            return _stored(node.name) if node.name is not None else iter(())
        if isinstance(node, cst.MatchMapping):
            return _stored(node.rest) if node.rest is not None else iter(())
        return iter(())

    def _imports_of(self, stmt: cst.Import | cst.ImportFrom) -> Iterator[_Import]:
        if isinstance(stmt.names, cst.ImportStar):
            return
        scope = self._scope(stmt)
        parent = self._parents.get(stmt)
        line = parent if isinstance(parent, cst.SimpleStatementLine) else None
        block = self._parents.get(line) if line is not None else None
        direct = block is self._source.module or (isinstance(scope, cst.FunctionDef) and block is scope.body)
        prefix = ""
        if isinstance(stmt, cst.ImportFrom):
            prefix = "." * len(stmt.relative) + _dotted(stmt.module) + "."
        for alias in stmt.names:
            path = _dotted(alias.name)
            asname = alias.evaluated_alias
            place = line if direct else None
            if asname is None and not prefix and "." in path:
                yield _Import(path.partition(".")[0], path.partition(".")[0], scope, place)
            yield _Import(asname or path, prefix + path, scope, place)

    def _import_lines(self, before: int | None) -> list[cst.SimpleStatementLine]:
        """The lines at module level, in order, that import and end before ``before``."""
        lines = [s for s in self._source.module.body if isinstance(s, cst.SimpleStatementLine)]
        lines = [s for s in lines if any(isinstance(small, (cst.Import, cst.ImportFrom)) for small in s.body)]
        return [s for s in lines if before is None or self._range(s)[1] < before]

    def _extend_import(self, stmt: cst.ImportFrom, name: str) -> Edit | None:
        if isinstance(stmt.names, cst.ImportStar):
            return None
        elements = [self._element(alias) for alias in stmt.names]
        names = [_dotted(alias.name) for alias in stmt.names]
        bracketed = stmt.lpar is not None
        for key in (_by_type, str.casefold, str):
            keys = [key(n) for n in names]
            if keys == sorted(keys):
                index = bisect(keys, key(name))
                break
        else:
            index = len(names)
        if index < len(names):
            start = elements[index].start
            indent = self._indent(start) if bracketed else None
            if indent is None:
                return Edit(start, start, f"{name}, ")
            above = self._previous_line(self._line_start(start))
            if not _COMMENT.match(self._data, above):
                return self.replace_range(start, start, f"{name},\n{indent}")
        return self._append(elements, name, own_line=bracketed)

    def _new_import(self, code: str, module: str, before: int | None) -> Edit:
        """A new import line: behind one of the same package, else behind the imports at the top, else before the first statement."""
        body = self._source.module.body
        lines = self._import_lines(before)
        root = module.partition(".")[0]
        definition = next((self._start(s) for s in body if isinstance(s, (cst.FunctionDef, cst.ClassDef))), len(self._data))
        same = [s for s in lines if any(_imports_package(small, root) for small in s.body)]
        top = [s for s in lines if self._range(s)[1] <= definition]
        anchor = same[0] if same else top[-1] if top else None
        if anchor is not None:
            end = self._line_end(self._range(anchor)[1])
            if end is not None:
                return self._new_line(end, code)
        if body and self._opens_with_docstring(body[0]):
            end = self._line_end(self._range(body[0])[1])
            if end is not None:
                return self._new_line(end, "\n" + code)
        if not body:
            return self._new_line(len(self._data), code)
        at = self._above_comments(body[0], "")
        return self.replace_range(at, at, code + "\n\n")

    # --- comma-separated lists ---------------------------------------------------------------------------------------------------------------

    def _element(self, node: cst.Arg | cst.ImportAlias | cst.WithItem | cst.DictElement) -> _Element:
        start, end = self._range(node)
        return _Element(start, end, self._range(node.comma)[1] if isinstance(node.comma, cst.Comma) else None)

    def _append(self, elements: Sequence[_Element], text: str, *, own_line: bool) -> Edit:
        last = elements[-1]
        indent = self._indent(last.start) if own_line else None
        if indent is None:
            if last.comma is not None:
                return self.replace_range(last.comma, last.comma, f" {text},")
            return self.replace_range(last.end, last.end, f", {text}")
        comment = _COMMENT.match(self._data, last.stop)
        at = comment.end() if comment else last.stop
        if last.comma is not None:
            return self.replace_range(at, at, f"\n{indent}{text},")
        return self.replace_range(last.end, at, f",{self._data[last.end : at].decode()}\n{indent}{text}")

    def _remove(self, elements: Sequence[_Element], index: int) -> Edit:
        gone = elements[index]
        rest = _REST_OF_LINE.match(self._data, gone.stop)
        alone = self._indent(gone.start) is not None and rest is not None and rest.group(1) and b"\\" not in rest.group()
        commented = index > 0 and b"#" in self._data[elements[index - 1].end : gone.start]
        if alone and rest is not None and (gone.comma is not None or commented):
            return Edit(self._line_start(gone.start), rest.end(), "")
        if index < len(elements) - 1:
            following = elements[index + 1].start
            blanks = _BLANKS.match(self._data, gone.stop)
            end = following if b"#" not in self._data[gone.stop : following] or blanks is None else blanks.end()
            return Edit(gone.start, end, "")
        if index == 0 or commented:
            return Edit(gone.start, gone.stop, "")
        return Edit(elements[index - 1].end, gone.end, "")

    def _opening(self, call: cst.Call) -> int | None:
        """The offset behind the opening parenthesis of a call."""
        at = self._whole(call.func)[1]
        at += len(self._source.module.code_for_node(call.whitespace_after_func).encode())
        return at + 1 if self._data[at : at + 1] == b"(" else None

    def _closing(self, node: cst.With) -> int:
        return self._range(node.rpar)[0] if isinstance(node.rpar, cst.RightParen) else self._element(node.items[-1]).stop

    # --- places in the text ------------------------------------------------------------------------------------------------------------------

    @cached_property
    def _exact(self) -> bool:
        """Whether the tree writes the very text; it does not with a form feed or a continued line before a statement, and all places are off."""
        return self._source.module.code == self._source.text

    @cached_property
    def _parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        # LibCST nodes hash and compare by identity.
        return {child: node for node in _walk(self._source.module) for child in _children(node)}

    def _ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        parent = self._parents.get(node)
        while parent is not None:
            yield parent
            parent = self._parents.get(parent)

    def _scope(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return next((a for a in self._ancestors(node) if isinstance(a, (cst.FunctionDef, cst.ClassDef, cst.Lambda))), None)

    def _functions_around(self, node: cst.CSTNode | None) -> list[cst.CSTNode]:
        return [] if node is None else [a for a in self._ancestors(node) if isinstance(a, cst.FunctionDef)]

    def _in_string(self, node: cst.CSTNode) -> bool:
        return any(type(a).__name__ in _STRING_HOLES for a in self._ancestors(node))

    def _range(self, node: cst.CSTNode) -> tuple[int, int]:
        return self._source.byte_range(node)

    def _whole(self, node: cst.BaseExpression) -> tuple[int, int]:
        """The byte range of an expression with its own parentheses."""
        start, end = self._range(node)
        if node.lpar:
            start, end = self._range(node.lpar[0])[0], self._range(node.rpar[-1])[0] + 1
        return start, end

    def _start(self, stmt: cst.CSTNode) -> int:
        decorators = getattr(stmt, "decorators", ())
        return self._range(decorators[0] if decorators else stmt)[0]

    def _line_start(self, offset: int) -> int:
        return max(self._data.rfind(b"\n", 0, max(offset, 0)), self._data.rfind(b"\r", 0, max(offset, 0))) + 1

    def _line_end(self, offset: int) -> int | None:
        """The start of the next line, when only blanks, semicolons and a comment stand between."""
        match = _REST_OF_LINE.match(self._data, offset)
        return match.end() if match else None

    def _indent(self, offset: int) -> str | None:
        """The blanks before ``offset`` when nothing else stands before it on its line, and the line continues no other; else ``None``."""
        start = self._line_start(offset)
        text = self._data[start:offset]
        continued = self._data[:start].rstrip(b"\r\n").endswith(b"\\") and self._data[start - 1 : start] in (b"\n", b"\r")
        return text.decode() if not text.strip(b" \t\f") and not continued else None

    def _previous_line(self, line_start: int) -> int:
        return self._line_start(line_start - (2 if self._data[line_start - 2 : line_start] == b"\r\n" else 1))

    def _above_comments(self, stmt: cst.CSTNode, indent: str) -> int:
        """The start of the first of the comment lines of the same indentation that stand directly above a statement, or of its own line."""
        at = self._line_start(self._start(stmt))
        for line in reversed(getattr(stmt, "leading_lines", ())):
            above = self._previous_line(at)
            if line.comment is None or not self._data.startswith(f"{indent}#".encode(), above):
                break
            at = above
        return at

    def _block_end(self, stmt: cst.CSTNode) -> int | None:
        """The start of the line behind a statement and the comments that are indented deeper than it."""
        end = self._line_end(self._range(stmt)[1])
        indent = self._indent(self._start(stmt))
        if end is None or indent is None or isinstance(stmt, cst.SimpleStatementLine):
            return end
        deeper = re.compile(re.escape(indent.encode()) + rb"[ \t]+#[^\r\n]*(?:\r\n|\r|\n|\Z)")
        while match := deeper.match(self._data, end):
            end = match.end()
        return end

    def _new_line(self, at: int, code: str) -> Edit:
        """Insert lines at a line start, or behind a last line that has no newline."""
        ends_open = at == len(self._data) and at > 0 and self._data[-1:] not in (b"\n", b"\r")
        return self.replace_range(at, at, "\n" + code if ends_open else code + "\n")

    def _place(self, stmt: cst.CSTNode) -> tuple[cst.CSTNode, int, int] | None:
        """The line or compound statement that holds ``stmt``, and the first and last of its small statements that ``stmt`` is."""
        if not self._exact:
            return None
        parent = self._parents.get(stmt)
        if isinstance(stmt, cst.BaseSmallStatement):
            index = _index(_smalls(parent), stmt)
            if parent is None or index is None:
                return None
            holder, first, last = parent, index, index
        elif isinstance(stmt, cst.SimpleStatementLine):
            holder, first, last = stmt, 0, len(stmt.body) - 1
        else:
            holder, first, last = stmt, 0, 0
        if isinstance(holder, cst.SimpleStatementSuite) or _index(_body(self._parents.get(holder)), holder) is not None:
            return holder, first, last
        return None

    def _opens_with_docstring(self, stmt: cst.CSTNode) -> bool:
        block = self._parents.get(stmt)
        owner = block if isinstance(block, cst.Module) else self._parents.get(block) if block is not None else None
        if not isinstance(owner, (cst.Module, cst.FunctionDef, cst.ClassDef)) or _index(_body(block), stmt) != 0:
            return False
        smalls = _smalls(stmt)
        return bool(smalls) and isinstance(smalls[0], cst.Expr) and isinstance(smalls[0].value, (cst.SimpleString, cst.ConcatenatedString))

    def _unwrap(self, node: cst.With) -> Edit | None:
        start = self._range(node)[0]
        indent = self._indent(start)
        if indent is None or self._place(node) is None:
            return None
        if not isinstance(node.body, cst.IndentedBlock):
            return Edit(start, self._range(node.body.body[0])[0], "")
        first = node.body.body[0]
        inner = self._indent(self._start(first))
        end = self._block_end(node)
        if inner is None or end is None or not inner.startswith(indent) or inner == indent:
            return None
        for child in _walk(node.body):
            if type(child).__name__ in _STRINGS:
                begin, stop = self._range(child)
                if b"\n" in self._data[begin:stop] or b"\r" in self._data[begin:stop]:
                    return None
        body = self._line_start(self._start(first))
        # Each blank or comment line above the first statement is one line of the text.
        for _ in getattr(first, "leading_lines", ()):
            body = self._previous_line(body)
        lines = []
        for match in _LINE.finditer(self._data, body, end):
            line = match.group()
            lines.append(indent.encode() + line[len(inner.encode()) :] if line.startswith(inner.encode()) else line)
        return Edit(self._line_start(start), end, b"".join(lines).decode())

    # --- expressions in the text -------------------------------------------------------------------------------------------------------------

    def _glued(self, start: int, end: int, text: str) -> Edit:
        """An edit that keeps a blank between words which the edit would else join, as in ``x.f()if y else z``."""
        before, after = self._data[:start][-4:].decode(errors="ignore")[-1:], self._data[end : end + 4].decode(errors="ignore")[:1]
        left, right = text[:1] or after, text[-1:] or before
        if before and left and _WORD.match(before) and _WORD.match(left):
            text = f" {text}"
        if text.strip() and after and _WORD.match(after) and _WORD.match(right):
            text = f"{text} "
        return self.replace_range(start, end, text)

    def _needs_parentheses(self, node: cst.BaseExpression, text: str) -> bool:
        try:
            new = cst.parse_expression(text.strip())
        except Exception:
            # LibCST raises several kinds; what is no expression is written as it is.
            return False
        if new.lpar or node.lpar or (isinstance(new, _PRIMARY) and not isinstance(new, (cst.Integer, cst.Float))):
            return False
        parent = self._parents.get(node)
        if isinstance(new, (cst.Integer, cst.Float, cst.Imaginary)):
            return isinstance(parent, cst.Attribute)
        return isinstance(new, _LOOSE) or not isinstance(parent, _OPEN)


def _children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (v for v in value if isinstance(v, cst.CSTNode))


def _walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, without recursion; brothers in order of the source text as far as their class declares them so."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(list(_children(node))))


def _index(nodes: Sequence[cst.CSTNode], node: cst.CSTNode) -> int | None:
    return next((i for i, n in enumerate(nodes) if n is node), None)


def _body(block: cst.CSTNode | None) -> Sequence[cst.CSTNode]:
    return block.body if isinstance(block, (cst.Module, cst.IndentedBlock)) else ()


def _smalls(holder: cst.CSTNode | None) -> Sequence[cst.BaseSmallStatement]:
    return holder.body if isinstance(holder, (cst.SimpleStatementLine, cst.SimpleStatementSuite)) else ()


def _dotted(node: cst.CSTNode | None) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _stored(target: cst.CSTNode) -> Iterator[str]:
    """The plain names in a target of an assignment."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _stored(element.value)


def _may_pass(arg: cst.Arg, name: str) -> bool:
    if arg.star == "*":
        return True
    if arg.star == "**":
        if not isinstance(arg.value, cst.Dict):
            return True
        for element in arg.value.elements:
            key = element.key.evaluated_value if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString) else None
            if not isinstance(key, str) or key == name:
                return True
        return False
    return arg.keyword is not None and arg.keyword.value == name


def _imports_package(stmt: cst.CSTNode, root: str) -> bool:
    if isinstance(stmt, cst.Import):
        return any(_dotted(alias.name).partition(".")[0] == root for alias in stmt.names)
    return isinstance(stmt, cst.ImportFrom) and not stmt.relative and _dotted(stmt.module).partition(".")[0] == root


def _is_future(stmt: cst.CSTNode) -> bool:
    return any(isinstance(s, cst.ImportFrom) and _dotted(s.module) == "__future__" for s in _smalls(stmt))


def _by_type(name: str) -> tuple[int, str]:
    """The order of isort and ruff: constants, classes, the rest."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), name


def _indented(code: str, indent: str) -> str:
    lines = code.replace("\r\n", "\n").rstrip("\n").split("\n")
    return "\n".join(indent + line if line.strip() else "" for line in lines)


def _has_long_string(code: str) -> bool:
    """Whether indenting ``code`` would change the contents of a string."""
    return "\n" in code.strip() and ('"""' in code or "'''" in code or "\\\n" in code)


def _is_inline(code: str) -> bool:
    """Whether ``code`` may share a line with other statements: one line, no compound statement, no comment."""
    if "\n" in code.strip():
        return False
    try:
        body = cst.parse_module(code.strip()).body
    except cst.ParserSyntaxError:
        return False
    return bool(body) and all(isinstance(s, cst.SimpleStatementLine) and s.trailing_whitespace.comment is None for s in body)
