"""What one source file says of its names, from its syntax alone.

The records are plain data for JSON, short because there are many:

* function ``{"s": "self,a,b=,/,*,c=,**kw"}``: a name with ``=`` has a default. ``kw`` says where ``**kwargs`` go (:func:`_keywords`),
  ``deco`` names decorators, ``ren`` has (old, new) of decorators that rename keywords, ``msg`` texts that announce a removal with the names that
  the test above them mentions.
* class ``{"c": [bases]}``: ``dc`` 1 for a dataclass (2: keyword-only), ``f`` its fields (``name``, ``name=``, ``name!`` keyword-only), ``a`` names
  set on it or on ``self``, ``e`` the values of an enumeration, ``sig`` methods whose signature the library inspects before it calls them.
* variable ``0``; a name that stands for another one ``"module:name"``.

Methods stand apart, as functions, so that a change of one costs one record; so do the shapes in which a class calls ``self.method(…)``:
``[positional count, starred, "keyword,names", double-starred]``.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

Record = Any

_WARNERS = {"warn", "warning", "warning_once", "warning_advice", "warn_once"}
_ANNOUNCES = re.compile(
    r"deprecat|will be removed|removed in|no longer|has been removed|is replaced|renamed|use .{1,60} instead|unrecognized", re.IGNORECASE
)
_LOST = "?"


@dataclass
class Module:
    """A module's definitions, imports and exports."""

    names: dict[str, Record] = field(default_factory=dict)
    methods: dict[str, dict[str, Record]] = field(default_factory=dict)
    shapes: dict[str, dict[str, Record]] = field(default_factory=dict)
    imports: dict[str, tuple[int, str, str]] = field(default_factory=dict)  # local name: (level, module, name)
    stars: list[tuple[int, str]] = field(default_factory=list)
    listed: list[str] | None = None  # __all__
    lazy: dict[str, list[str]] | None = None  # _import_structure
    tree: str | None = None  # the folder given to define_import_structure
    dynamic: list[str] = field(default_factory=list)  # constants of a module's __getattr__
    required: list[str] = field(default_factory=list)  # definitions under @requires or @export


def dotted(node: ast.AST | None) -> str | None:
    """``a.b.c`` for a chain of names; ``super.x`` for ``super().x``."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        return ".".join([node.id, *reversed(parts)])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        return ".".join(["super", *reversed(parts)])
    return None


def constant(node: ast.AST | None) -> Any:
    """The value of a literal, ``None`` for anything else."""
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _last(node: ast.AST) -> str:
    name = dotted(node.func if isinstance(node, ast.Call) else node)
    return name.rpartition(".")[2] if name else _LOST


def signature(given: ast.arguments) -> str:
    """A signature as text, without annotations and values."""
    out: list[str] = []
    positional = given.posonlyargs + given.args
    first_default = len(positional) - len(given.defaults)
    for index, one in enumerate(positional):
        out.append(one.arg + ("=" if index >= first_default else ""))
        if index == len(given.posonlyargs) - 1:
            out.append("/")
    if given.vararg:
        out.append("*" + given.vararg.arg)
    elif given.kwonlyargs:
        out.append("*")
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        out.append(one.arg + ("=" if default is not None else ""))
    if given.kwarg:
        out.append("**" + given.kwarg.arg)
    return ",".join(out)


# ---------------------------------------------------------------- where **kwargs go
def _keywords(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Record:
    """Where ``**kwargs`` go: names taken out by name (``p``), callables that get the rest (``w``), whether they are read as a plain dictionary
    (``o``), whether leftovers raise (``r``), and the TypedDict that describes them (``t``)."""
    taken: set[str] = set()
    forwarded: set[str] = set()
    uses = {"open": False, "raises": False}
    parents = {child: parent for parent in ast.walk(function) for child in ast.iter_child_nodes(parent)}
    lists: dict[str, list[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = constant(node.value)
            if isinstance(value, (list, tuple, set)) and value and all(isinstance(x, str) for x in value):
                lists[node.targets[0].id] = list(value)
    for node in ast.walk(function):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            value = constant(node.iter) or (lists.get(node.iter.id) if isinstance(node.iter, ast.Name) else None)
            touches = any(isinstance(x, ast.Name) and x.id == name for statement in node.body for x in ast.walk(statement))
            if isinstance(value, (list, tuple, set)) and touches:
                taken.update(x for x in value if isinstance(x, str))
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            _one_use(node, parents, taken, forwarded, uses)
    made: Record = {}
    if taken:
        made["p"] = sorted(taken)
    if forwarded:
        made["w"] = sorted(forwarded)
    if uses["open"]:
        made["o"] = 1
    if uses["raises"]:
        made["r"] = 1
    annotation = function.args.kwarg.annotation if function.args.kwarg else None
    if isinstance(annotation, ast.Subscript) and _last(annotation.value) == "Unpack":
        made["t"] = dotted(annotation.slice) or _LOST
    return made


def _one_use(node: ast.Name, parents: dict[ast.AST, ast.AST], taken: set[str], forwarded: set[str], uses: dict[str, bool]) -> None:
    parent = parents.get(node)
    above = parents.get(parent) if parent is not None else None
    if isinstance(parent, ast.keyword) and parent.arg is None and isinstance(above, ast.Call):
        forwarded.add(dotted(above.func) or _LOST)
    elif isinstance(parent, ast.Attribute) and isinstance(above, ast.Call) and parent.attr in ("pop", "get", "setdefault"):
        key = above.args[0] if above.args else None
        if isinstance(key, ast.Constant):
            taken.add(str(key.value))
    elif isinstance(parent, ast.Attribute) and parent.attr in ("update", "keys"):
        pass
    elif isinstance(parent, ast.Subscript):
        if isinstance(parent.slice, ast.Constant) and isinstance(parent.ctx, ast.Load):
            taken.add(str(parent.slice.value))
    elif isinstance(parent, ast.Compare):
        if isinstance(parent.left, ast.Constant) and isinstance(parent.left.value, str):
            taken.add(parent.left.value)
    elif isinstance(parent, (ast.If, ast.UnaryOp, ast.BoolOp)) or (isinstance(parent, ast.Call) and _last(parent) == "len"):
        test: ast.AST | None = node
        while test is not None and not isinstance(test, ast.If):
            test = parents.get(test)
        if isinstance(test, ast.If) and any(isinstance(statement, ast.Raise) for statement in test.body):
            uses["raises"] = True
    else:
        uses["open"] = True


# ---------------------------------------------------------------- texts and decorators
def _text(node: ast.AST) -> str:
    """The constant text of a message, with ``{}`` for what is put in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _text(node.func.value)
    return ""


def _messages(root: ast.AST) -> list[Record]:
    """Warnings that announce a removal: (text, names and strings of the test that they stand under). Loops over literal tuples are unrolled."""
    found: list[Record] = []

    def texts(message: ast.AST, loops: list[tuple[list[str], Any]]) -> list[tuple[str, list[str]]]:
        if isinstance(message, ast.JoinedStr) and loops:
            names, rows = loops[-1]
            filled = [part.value.id for part in message.values if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name)]
            if set(filled) & set(names):
                out = []
                for row in rows:
                    held = dict(zip(names, row if isinstance(row, (tuple, list)) else [row], strict=False))
                    words = [
                        str(part.value) if isinstance(part, ast.Constant) else str(held.get(getattr(getattr(part, "value", None), "id", ""), "{}"))
                        for part in message.values
                    ]
                    out.append(("".join(words), [str(v) for v in held.values()]))
                return out
        return [(_text(message), [])]

    def visit(node: ast.AST, test: ast.AST | None, loops: list[tuple[list[str], Any]]) -> None:
        inner = loops
        if isinstance(node, ast.For):
            rows = constant(node.iter)
            targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            if names and isinstance(rows, (list, tuple)) and rows:
                inner = [*loops, (names, rows)]
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            under = node.test if isinstance(node, ast.If) and child is not node.test else test
            if isinstance(child, ast.Call) and _last(child) in _WARNERS and child.args:
                for text, extra in texts(child.args[0], inner):
                    if _ANNOUNCES.search(text):
                        mentioned = {x.id for x in ast.walk(under) if isinstance(x, ast.Name)} if under is not None else set()
                        if under is not None:
                            mentioned |= {x.attr for x in ast.walk(under) if isinstance(x, ast.Attribute)}
                            mentioned |= {x.value for x in ast.walk(under) if isinstance(x, ast.Constant) and isinstance(x.value, str)}
                        found.append([" ".join(text.split())[:240], sorted({*mentioned, *extra})])
            visit(child, under, inner)

    visit(root, None, [])
    return found


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, made: Record) -> None:
    for decorator in node.decorator_list:
        last = _last(decorator)
        if isinstance(decorator, ast.Call) and last in ("deprecate_kwarg", "deprecated_kwarg"):
            given = {keyword.arg: constant(keyword.value) for keyword in decorator.keywords}
            old = constant(decorator.args[0]) if decorator.args else given.get("old_name")
            made.setdefault("ren", []).append([old, given.get("new_name")])
        elif isinstance(decorator, ast.Call) and last == "_deprecate_arguments":
            given = {keyword.arg: constant(keyword.value) for keyword in decorator.keywords}
            made.setdefault("ren", []).extend([old, None] for old in given.get("deprecated_args") or [])
        elif last not in ("dataclass", "overload", "abstractmethod"):
            made.setdefault("deco", []).append(last)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Record:
    made: Record = {"s": signature(node.args)}
    if node.args.kwarg:
        made["kw"] = _keywords(node, node.args.kwarg.arg)
    _decorators(node, made)
    if messages := _messages(node):
        made["msg"] = messages
    return made


# ---------------------------------------------------------------- classes
def _overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(_last(decorator) == "overload" for decorator in node.decorator_list)


def _shape(call: ast.Call) -> tuple[int, int, str, int]:
    starred = sum(isinstance(argument, ast.Starred) for argument in call.args)
    names = ",".join(sorted(keyword.arg for keyword in call.keywords if keyword.arg))
    return len(call.args) - starred, int(bool(starred)), names, int(any(keyword.arg is None for keyword in call.keywords))


def _field(statement: ast.AnnAssign, name: str, keyword_only: str) -> str | None:
    """``name``, ``name=``, ``name!``; ``None`` for what the constructor does not take."""
    value = statement.value
    if value is None:
        return name + keyword_only
    if isinstance(value, ast.Call) and _last(value) == "field":
        given = {keyword.arg: keyword.value for keyword in value.keywords}
        if constant(given.get("init")) is False:
            return None
        if constant(given.get("kw_only")):
            keyword_only = "!"
        return name + keyword_only + ("=" if {"default", "default_factory"} & given.keys() else "")
    return name + keyword_only + "="


def _class(node: ast.ClassDef, module: Module) -> None:
    made: Record = {"c": [dotted(base.value if isinstance(base, ast.Subscript) else base) or _LOST for base in node.bases]}
    for decorator in node.decorator_list:
        if _last(decorator) == "dataclass":
            only = isinstance(decorator, ast.Call) and any(k.arg == "kw_only" and constant(k.value) for k in decorator.keywords)
            made["dc"] = 2 if only else 1
    _decorators(node, made)
    fields: list[str] = []
    methods: dict[str, Record] = {}
    attributes: set[str] = set()
    values: list[str] = []
    keyword_only = ""

    def body(statements: list[ast.stmt]) -> None:
        nonlocal keyword_only
        for statement in statements:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                setter = any((dotted(d) or "").endswith(".setter") for d in statement.decorator_list)
                if not _overload(statement) and not (setter and statement.name in methods):
                    methods[statement.name] = _function(statement)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                name, annotation = statement.target.id, ast.unparse(statement.annotation)
                if annotation == "KW_ONLY":
                    keyword_only = "!"
                elif "ClassVar" in annotation:
                    attributes.add(name)
                elif (one := _field(statement, name, keyword_only)) is not None:
                    fields.append(one)
                else:
                    attributes.add(name)
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        attributes.add(target.id)
                        value = constant(statement.value)
                        if isinstance(value, str):
                            values.append(value)
            elif isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    methods[alias.asname or alias.name] = f"{'.' * statement.level}{statement.module or ''}:{alias.name}"
            elif isinstance(statement, (ast.If, ast.Try)):
                body(statement.body)
                body(statement.orelse)

    body(node.body)
    calls: dict[str, set[tuple[int, int, str, int]]] = {}
    inspected = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == "self" and isinstance(inner.ctx, ast.Store):
            attributes.add(inner.attr)
        if isinstance(inner, ast.Call):
            function = inner.func
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self":
                calls.setdefault(function.attr, set()).add(_shape(inner))
            first = inner.args[0] if inner.args else None
            if _last(inner) == "signature" and isinstance(first, ast.Attribute) and dotted(first.value) == "self":
                inspected.add(first.attr)
    if messages := _messages(node):
        made["msg"] = messages
    if fields:
        made["f"] = fields
    if attributes:
        made["a"] = " ".join(sorted(attributes))
    if inspected:
        made["sig"] = sorted(inspected)
    if any("Enum" in base for base in made["c"]):
        made["e"] = values
    module.names[node.name] = made
    if methods:
        module.methods[node.name] = methods
    shapes = {name: [list(shape) for shape in sorted(found)] for name, found in sorted(calls.items())}
    if shapes:
        module.shapes[node.name] = shapes


# ---------------------------------------------------------------- modules
def read(text: str) -> Module:
    """All that a module says of its names; an empty one where it does not parse."""
    module = Module()
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return module
    _statements(tree.body, module)
    if module.lazy is not None or "define_import_structure(" in text:
        if "_LazyModule(" not in text or not re.search(r"sys\.modules\[__name__\]\s*=", text):
            module.lazy = None
        else:
            module.lazy = module.lazy or {}
            if "define_import_structure(" in text:
                module.tree = "models" if re.search(r'define_import_structure\([^)]*"models"', text) else ""
    return module


def _structure(node: ast.AST) -> ast.AST | None:
    """The key of ``_import_structure[key]``."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and "import_structure" in node.value.id:
        return node.slice
    return None


def _put(module: Module, key: ast.AST | None, value: ast.AST) -> None:
    name, held = constant(key), constant(value)
    if isinstance(name, str):
        module.lazy = module.lazy if module.lazy is not None else {}
        module.lazy.setdefault(name, []).extend(held if isinstance(held, (list, tuple, set)) else [held] if isinstance(held, str) else [])


def _statements(body: list[ast.stmt], module: Module) -> None:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if statement.name == "__getattr__":
                texts = {n.value for n in ast.walk(statement) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
                module.dynamic = sorted(text for text in texts if text.isidentifier())
            elif statement.name not in module.names and not _overload(statement):
                module.names[statement.name] = _function(statement)
            _note_required(statement, module)
        elif isinstance(statement, ast.ClassDef):
            if statement.name not in module.names:
                _class(statement, module)
            _note_required(statement, module)
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                local = alias.asname or alias.name.partition(".")[0]
                module.imports[local] = (0, alias.name if alias.asname else local, "")
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if alias.name == "*":
                    module.stars.append((statement.level, statement.module or ""))
                else:
                    module.imports[alias.asname or alias.name] = (statement.level, statement.module or "", alias.name)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            _assignment(statement, module)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and isinstance(statement.value.func, ast.Attribute):
            function, arguments = statement.value.func, statement.value.args
            key = _structure(function.value)
            if key is not None and function.attr in ("extend", "append", "add", "update") and arguments:
                _put(module, key, arguments[0])
            elif dotted(function.value) == "__all__" and function.attr in ("extend", "append") and arguments:
                value = constant(arguments[0])
                module.listed = [*(module.listed or []), *([value] if isinstance(value, str) else value or [])]
        elif isinstance(statement, ast.If):
            if "TYPE_CHECKING" not in ast.dump(statement.test):
                _statements(statement.body, module)
            _statements(statement.orelse, module)
        elif isinstance(statement, ast.Try):
            for part in (statement.body, statement.orelse, statement.finalbody, *(handler.body for handler in statement.handlers)):
                _statements(part, module)
        elif isinstance(statement, (ast.With, ast.For, ast.While)):
            _statements(statement.body, module)


def _note_required(statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, module: Module) -> None:
    if any(_last(decorator) in ("requires", "export") for decorator in statement.decorator_list):
        module.required.append(statement.name)


def _assignment(statement: ast.Assign | ast.AnnAssign | ast.AugAssign, module: Module) -> None:
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        key = _structure(target)
        if key is not None and statement.value is not None:
            _put(module, key, statement.value)
        elif isinstance(target, ast.Name):
            if "import_structure" in target.id and isinstance(statement.value, ast.Dict):
                for one, value in zip(statement.value.keys, statement.value.values, strict=True):
                    _put(module, one, value)
            if target.id == "__all__" and statement.value is not None:
                listed = constant(statement.value)
                module.listed = [*(module.listed or []), *(x for x in listed or [] if isinstance(x, str))]
            if target.id not in module.names and statement.value is not None:
                module.names[target.id] = f":{statement.value.id}" if isinstance(statement.value, ast.Name) else 0
        elif isinstance(target, ast.Tuple):
            for element in target.elts:
                if isinstance(element, ast.Name):
                    module.names.setdefault(element.id, 0)


# ---------------------------------------------------------------- names only
_TOP = re.compile(r"^(?:async )?(?:class|def)\s+(\w+)|^(\w+)\s*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
_LISTED = re.compile(r"^__all__\s*\+?=\s*(\[.*?\]|\(.*?\))", re.MULTILINE | re.DOTALL)
_REQUIRED = re.compile(r"^@(?:requires|export)\b.*?^(?:class|def)\s+(\w+)", re.MULTILINE | re.DOTALL)


def skim(text: str) -> Module:
    """The names of a model's module, by regular expression: there are thousands of them, and their signatures are not needed."""
    module = Module(names={first or second: 0 for first, second in _TOP.findall(text)})
    for found in _LISTED.findall(text):
        listed = constant(ast.parse(found, mode="eval").body)
        module.listed = [*(module.listed or []), *(x for x in listed or [] if isinstance(x, str))]
    module.names.pop("__all__", None)
    if "@requires" in text or "@export" in text:
        module.required = _REQUIRED.findall(text)
    return module


_SETTING = re.compile(r"^        (\w+)(?::[^=\n]+)? ?= ?[^=\n]+,$|^        self\.(\w+) = |^    (\w+): [^=\n]+(?:= |$)", re.MULTILINE)


def settings(text: str) -> set[str]:
    """The names that a configuration module's classes take or set."""
    return {name for found in _SETTING.findall(text) for name in found if name}
