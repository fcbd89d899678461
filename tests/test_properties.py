"""Properties over generated programs: an edit changes exactly what it says, fixing settles, and checking neither fails nor writes."""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lora_lint.edits import Editor, collect
from lora_lint.findings import Applicability, Edit, Finding, Fix, Severity
from lora_lint.fix import apply, fix_text
from lora_lint.source import Source, SourceError

quick = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

COMMENTS = ("", "", "  # c", "  # ä: (")
HEADERS = (
    "",
    "",
    '"""doc\n    text"""\n',
    "#!/usr/bin/python\n# -*- coding: {encoding} -*-\n",
    "from __future__ import annotations\n",
    "# a\n\n# b\n",
)
IMPORTS = (
    "",
    "import m\n",
    "import m as mm\n",
    "from m import A, B\n",
    "from m import (\n    A,\n    zz,  # c\n)\n",
    "from m import *\n",
    "import m.sub; x = 1\n",
)


@st.composite
def programs(draw: st.DrawFn) -> Source:
    """A file in which each called function ``f1``, method ``m1``, keyword ``k1`` and context ``w1`` has a name of its own."""
    unit = draw(st.sampled_from(["    ", "  ", "\t"]))
    numbers = count(1)

    def value(depth: int) -> str:
        kind = draw(st.integers(0, 6 if depth > 0 else 2))
        if kind == 0:
            return "a"
        if kind == 1:
            return draw(st.sampled_from(["(b)", "'ä'", "1.5", "[1, 2]", "not a", "f'{a}'", "(x for x in a)", "a if b else c"]))
        if kind == 2:
            return f"a.m{next(numbers)}()"
        if kind == 3:
            return f"({value(depth - 1)}).m{next(numbers)}({value(0)}).t"
        if kind == 4:
            return '"""x\n  y"""'
        return call(depth - 1)

    def call(depth: int) -> str:
        name = f"f{next(numbers)}"
        arguments = [value(depth) for _ in range(draw(st.integers(0, 2)))]
        arguments += [f"k{next(numbers)}={value(depth)}" for _ in range(draw(st.integers(0, 2)))]
        arguments += draw(st.sampled_from([[], [], [], ["*aa"] if not any("=" in a[:5] for a in arguments) else [], ["**kw"], ["**{'q': 1}"]]))
        style = draw(st.integers(0, 3))
        if not arguments or style == 0:
            return f"{name}({', '.join(arguments)}{draw(st.sampled_from([',', ', ', ''])) if arguments else ''})"
        inner = unit * 4
        if style == 1:
            return f"{name}(" + f",{draw(st.sampled_from(COMMENTS))}\n{inner}".join(arguments) + ")"
        last = draw(st.sampled_from([",", ""])) + draw(st.sampled_from(COMMENTS))
        return f"{name}(\n{inner}" + f",{draw(st.sampled_from(COMMENTS))}\n{inner}".join(arguments) + f"{last}\n{unit})"

    def simple() -> str:
        return draw(st.sampled_from(["{}", "y = {}", "return_ = -{}", "y += {} + 1", "(y) = ({})"])).format(call(1))

    def line(indent: str) -> str:
        lead = draw(st.sampled_from(["", "", f"{indent}# lead\n", "\n", "\n# outer\n"]))
        parts = [simple() for _ in range(draw(st.sampled_from([1, 1, 1, 2])))]
        return (
            lead
            + indent
            + draw(st.sampled_from(["; ", ";"])).join(parts)
            + draw(st.sampled_from(["", ";", " ;"]))
            + draw(st.sampled_from(COMMENTS))
            + "\n"
        )

    def body(indent: str, depth: int) -> str:
        if draw(st.integers(0, 3)) == 0:
            return f": {simple()}{draw(st.sampled_from(['', '; a', ';']))}{draw(st.sampled_from(COMMENTS))}\n"
        foot = draw(st.sampled_from(["", "", f"{indent}{unit}# foot\n"]))
        return f":{draw(st.sampled_from(COMMENTS))}\n{block(indent + unit, depth - 1)}{foot}"

    def context() -> str:
        items = [f"w{next(numbers)}{draw(st.sampled_from(['', '', ' as y']))}" for _ in range(draw(st.integers(1, 3)))]
        style = draw(st.integers(0, 2)) if len(items) > 1 else 0
        if style == 0:
            return f"with {', '.join(items)}"
        if style == 1:
            return f"with ({', '.join(items)}{draw(st.sampled_from(['', ',']))})"
        return f"with (\n{unit * 3}" + f",{draw(st.sampled_from(COMMENTS))}\n{unit * 3}".join(items) + f",\n{unit})"

    def compound(indent: str, depth: int) -> str:
        kind = draw(st.integers(0, 6))
        if kind == 0:
            text = f"{indent}if {value(1)}{body(indent, depth)}"
            return text + (f"{indent}elif b{body(indent, depth)}" if draw(st.booleans()) else f"{indent}else{body(indent, depth)}")
        if kind == 1:
            return f"{indent}for _ in {call(1)}{body(indent, depth)}"
        if kind == 2:
            decorator = draw(st.sampled_from(["", f"{indent}@d{next(numbers)}  # c\n", f"{indent}@d{next(numbers)}(\n{indent})\n{indent}@e\n"]))
            return f"{decorator}{indent}def g{next(numbers)}(p={value(1)}){body(indent, depth)}"
        if kind == 3:
            return f"{indent}try{body(indent, depth)}{indent}except E{body(indent, depth)}"
        if kind == 4:
            return f"{indent}class C{next(numbers)}{body(indent, depth)}"
        return f"{indent}{context()}{body(indent, depth)}"

    def block(indent: str, depth: int) -> str:
        kinds = draw(st.lists(st.booleans(), min_size=1, max_size=3))
        return "".join(compound(indent, depth) if nested and depth > 0 else line(indent) for nested in kinds)

    encoding = draw(st.sampled_from(["utf-8", "utf-8", "latin-1"]))
    text = draw(st.sampled_from(HEADERS)).format(encoding=encoding) + draw(st.sampled_from(IMPORTS)) + block("", 2)
    if draw(st.booleans()):
        text = text.rstrip("\n")
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    raw = text.encode(encoding) if "coding: latin-1" in text else draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()
    return Source.from_bytes(raw, "t.py")


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from walk(child)


def applied(source: Source, edits: tuple[Edit, ...]) -> Source:
    """The file with the edits; asserts that all else is as it was."""
    data, done = apply(source.data, [Fix("t", Applicability.SAFE, edits)])
    assert len(done) == 1
    ordered = sorted(edits)
    kept = [source.data[a:b] for a, b in zip([0, *(e.end for e in ordered)], [*(e.start for e in ordered), len(source.data)], strict=True)]
    assert data.startswith(kept[0])
    assert data.endswith(kept[-1])
    assert re.fullmatch(b".*".join(re.escape(k) for k in kept), data, re.DOTALL)
    after = Source.from_bytes(source.encode(data.decode("utf-8")), source.path)
    assert (after.data, after.encoding, after.bom) == (data, source.encoding, source.bom)
    if "\r\n" in source.text:
        assert not re.search(r"(?<!\r)\n", after.text)
    else:
        assert "\r" not in after.text
    cst.parse_module(after.text)
    return after


class Change(ast.NodeTransformer):
    """What an edit means, said on Python's own tree; finds its place by the unique name."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self.kind == "method" and isinstance(node.func, ast.Attribute) and node.func.attr == self.name:
            return node.func.value
        if self.kind == "argument":
            node.keywords = [k for k in node.keywords if k.arg != self.name]
        if self.kind == "keyword" and isinstance(node.func, ast.Name) and node.func.id == self.name:
            node.keywords.append(ast.keyword("new", ast.Constant(1)))
        return node

    def _with(self, node: Any) -> Any:
        self.generic_visit(node)
        if self.kind == "with" and any(isinstance(i.context_expr, ast.Name) and i.context_expr.id == self.name for i in node.items):
            if len(node.items) == 1:
                return node.body
            node.items = [i for i in node.items if not (isinstance(i.context_expr, ast.Name) and i.context_expr.id == self.name)]
        return node

    def visit_With(self, node: ast.With) -> Any:
        return self._with(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> Any:
        return self._with(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self.kind in ("before", "after", "delete"):
            for field in ("body", "orelse", "finalbody"):
                body = getattr(node, field, None)
                if not isinstance(body, list):
                    continue
                for index, stmt in enumerate(body):
                    if self._is_mine(stmt):
                        marker = ast.parse("marker()").body[0]
                        new = {"before": [marker, stmt], "after": [stmt, marker], "delete": []}[self.kind]
                        body[index : index + 1] = new or ([] if len(body) > 1 or isinstance(node, ast.Module) else [ast.Pass()])
                        break
        return node

    def _is_mine(self, stmt: ast.stmt) -> bool:
        if isinstance(stmt, (ast.FunctionDef, ast.ClassDef)):
            return stmt.name == self.name
        value: Any = getattr(stmt, "value", None)
        while isinstance(value, (ast.UnaryOp, ast.BinOp)):
            value = value.operand if isinstance(value, ast.UnaryOp) else value.left
        return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == self.name


def operations(source: Source) -> list[tuple[str, str, Callable[[Editor], Edit | tuple[Edit, ...] | None]]]:
    """All that an editor could do to the file: what, by which unique name, and how."""
    found: list[tuple[str, str, Callable[[Editor], Edit | tuple[Edit, ...] | None]]] = []

    def statement(node: cst.CSTNode, name: str) -> None:
        found.append(("before", name, lambda e: e.insert_before(node, "marker()")))
        found.append(("after", name, lambda e: e.insert_after(node, "marker()")))
        found.append(("delete", name, lambda e: e.delete_statement(node)))

    def call(node: cst.Call) -> None:
        if isinstance(node.func, cst.Attribute):
            found.append(("method", node.func.attr.value, lambda e: e.remove_method_call(node)))
        elif isinstance(node.func, cst.Name) and node.func.value.startswith("f"):
            found.append(("keyword", node.func.value, lambda e: e.add_keyword(node, "new=1")))

    def argument(node: cst.Call, arg: cst.Arg, name: str) -> None:
        found.append(("argument", name, lambda e: e.remove_argument(node, arg)))

    def context(node: cst.With, index: int, name: str) -> None:
        found.append(("with", name, lambda e: e.unwrap_with(node, index)))

    for node in walk(source.module):
        if isinstance(node, cst.Call):
            call(node)
            for arg in node.args:
                if arg.keyword is not None:
                    argument(node, arg, arg.keyword.value)
        elif isinstance(node, cst.With):
            for index, item in enumerate(node.items):
                if isinstance(item.item, cst.Name):
                    context(node, index, item.item.value)
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            statement(node, node.name.value)
        elif isinstance(node, cst.BaseSmallStatement):
            first = re.match(r"[^f]*?\b(f\d+)\(", source.module.code_for_node(node).replace("return_", "r"))
            if first and isinstance(node, (cst.Expr, cst.Assign, cst.AugAssign)):
                statement(node, first.group(1))
    return found


@quick
@given(source=programs(), data=st.data())
def test_an_edit_changes_exactly_what_it_says(source: Source, data: st.DataObject) -> None:
    choices = operations(source)
    kind = data.draw(st.sampled_from(sorted({c[0] for c in choices})))
    kind, name, operation = data.draw(st.sampled_from([c for c in choices if c[0] == kind]))
    edits = collect(operation(Editor(source)))
    if edits is None:
        return
    after = applied(source, edits)
    assert ast.dump(ast.parse(after.text)) == ast.dump(Change(kind, name).visit(ast.parse(source.text))), (kind, name)


def in_class_scope(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in the scope of a class: below its statements, but in no function."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from in_class_scope(child)


@quick
@given(source=programs(), data=st.data())
def test_an_imported_name_is_bound_where_it_is_used(source: Source, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["A", "prep", "zz", "y"]))
    at = data.draw(st.sampled_from([n for n in walk(source.module) if isinstance(n, cst.Name)]))
    text, edits = Editor(source).import_name("m", name, at)
    after = applied(source, edits) if edits else source
    bound: dict[str, str] = {}
    for stmt in ast.parse(after.text).body:
        for alias in stmt.names if isinstance(stmt, (ast.Import, ast.ImportFrom)) else ():
            prefix = f"{stmt.module}." if isinstance(stmt, ast.ImportFrom) else ""
            plain = alias.asname is None and not prefix
            bound[alias.asname or (alias.name.partition(".")[0] if plain else alias.name)] = prefix + (
                alias.name.partition(".")[0] if plain else alias.name
            )
    root, _, rest = text.partition(".")
    assert ".".join(filter(None, (bound[root], rest))) == f"m.{name}"
    tree = ast.parse(after.text)
    attributes = {id(n) for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for n in in_class_scope(c)}
    stored = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in attributes]
    assert root not in {n.id for n in stored}
    # Once imported, it is there: asking again changes nothing.
    assert Editor(after).import_name("m", name) == (text, ()) or at is not None


def editing_rules(source: Source) -> list[Finding]:
    """Rules in small: every kind of edit, each cured by its own fix, several of them with the same import."""
    editor = Editor(source)
    findings = []

    def report(code: str, node: cst.CSTNode, edits: tuple[Edit, ...] | None) -> None:
        span = source.span(node)
        fix = Fix(code, Applicability.SAFE, edits) if edits else None
        findings.append(Finding(code, code, Severity.WARNING, "", source.path, span, fix=fix, line_text=source.line(span.start.line)))

    for node in walk(source.module):
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value.startswith("f"):
            if not any(a.keyword is not None and a.keyword.value == "new" for a in node.args):
                text, imports = editor.import_name("m", "prep")
                report("LL001", node, collect(editor.add_keyword(node, f"new={text}"), imports))
            for arg in node.args:
                if arg.keyword is not None and arg.keyword.value.startswith("k"):
                    report("LL002", arg, collect(editor.remove_argument(node, arg)))
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            report("LL003", node, collect(editor.remove_method_call(node)))
        elif isinstance(node, cst.With):
            for index in range(len(node.items)):
                report("LL004", node, collect(editor.unwrap_with(node, index)))
        elif isinstance(node, cst.FunctionDef):
            for decorator in node.decorators:
                report("LL005", decorator, collect(editor.remove_decorator(node, decorator)))
    return findings


@settings(quick, max_examples=20)
@given(source=programs())
def test_fixing_settles_and_is_idempotent(source: Source) -> None:
    first = fix_text(source, editing_rules, unsafe=False)
    after = first.source_after
    assert (after.encoding, after.bom, after.newline if "\n" in source.text else "") == (
        source.encoding,
        source.bom,
        source.newline if "\n" in source.text else "",
    )
    ast.parse(after.text)
    for _ in range(5):
        second = fix_text(after, editing_rules, unsafe=False)
        if not any("do not settle" in line for line in first.rolled_back):
            assert second.source_after.text == after.text
            assert not second.applied
            break
        first, after = second, second.source_after


@quick
@given(data=st.binary(max_size=40), cuts=st.lists(st.tuples(st.integers(-2, 45), st.integers(-2, 45), st.sampled_from(["", "x", "ä"])), max_size=8))
def test_apply_takes_a_set_of_fixes_that_do_not_touch(data: bytes, cuts: list[tuple[int, int, str]]) -> None:
    fixes = [Fix(str(i), Applicability.SAFE, (Edit(*cut),)) for i, cut in enumerate(cuts)]
    result, done = apply(data, fixes)
    edits = sorted({e for f in done for e in f.edits})
    assert all(a.end < b.start for a, b in pairwise(edits))
    assert len(result) == len(data) + sum(len(e.text.encode()) - (e.end - e.start) for e in edits)
    assert all(f in done or f.edits[0].start < 0 or f.edits[0].end > len(data) or f.edits[0].end < f.edits[0].start or edits for f in fixes)


# --- the whole tool ---------------------------------------------------------------------------------------------------------------------------


def _checker() -> Callable[[Source], Any] | None:
    """Checks one file with every rule on; ``None`` while a part of the tool is not there."""
    if any(importlib.util.find_spec(f"lora_lint.{part}") is None for part in ("engine", "config", "recipe", "rules")):
        return None
    rules = importlib.import_module("lora_lint.rules")
    if not hasattr(importlib.import_module("lora_lint.recipe"), "build") or not hasattr(rules, "REGISTRY"):
        return None
    engine, config = importlib.import_module("lora_lint.engine"), importlib.import_module("lora_lint.config")
    in_force = config.Settings(codes=frozenset(rules.REGISTRY), severity=Severity.NOTE)
    return lambda source: engine.check_source(source, in_force)


@pytest.fixture(autouse=True, scope="module")
def _internal_errors_are_raised() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LORA_LINT_RAISE", "1")
        yield


CHECK = _checker()
whole_tool = pytest.mark.skipif(CHECK is None, reason="the interpreter is not there")

SCRIPT = textwrap.dedent("""\
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
    model = AutoModelForCausalLM.from_pretrained("m", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
    model.gradient_checkpointing_enable()
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
    for batch in loader:
        with torch.no_grad():
            loss = model(**batch).loss.detach()
        loss.backward()
        optimizer.step()
    args = TrainingArguments(output_dir="o", gradient_checkpointing=True)
    Trainer(model=model, args=args).train()
""")


@st.composite
def scripts(draw: st.DrawFn) -> bytes:
    """Fine-tuning code in disorder: lines of a script dropped, doubled, swapped, indented, cut; or a generated program with them around it."""
    lines = draw(st.lists(st.sampled_from(SCRIPT.splitlines()), max_size=25))
    wrap = draw(st.sampled_from(["", "def main(model, loader=None):\n", "if a:\n", "class T(Trainer):\n", "with torch.no_grad():\n", "try:\n"]))
    text = "\n".join(("    " if wrap else "") + line for line in lines) + "\n"
    text = SCRIPT.splitlines()[0] + "\n" + wrap + text + draw(programs()).text
    cut = draw(st.integers(0, len(text)))
    return (text if draw(st.booleans()) else text[:cut]).encode()


def outcome(raw: bytes) -> str:
    """All that checking says about a file, as text."""
    assert CHECK is not None
    try:
        source = Source.from_bytes(raw, "t.py")
    except SourceError as error:
        return f"error: {error.message}"
    result = CHECK(source)
    return repr((result.findings, result.error and (result.error.message, result.error.position)))


@whole_tool
@quick
@given(raw=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass")), scripts()))
def test_check_never_raises_and_is_deterministic(raw: bytes) -> None:
    assert outcome(raw) == outcome(raw)


@whole_tool
def test_check_never_writes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    outcome(SCRIPT.encode())  # all modules are imported, so that what follows opens no byte-code file
    real = builtins.open

    def guarded(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        assert not set(mode) & set("wax+"), f"{file} opened with {mode}"
        return real(file, mode, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", guarded)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    outcome(path.read_bytes())
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before


@whole_tool
@settings(quick, max_examples=20)
@given(raw=scripts())
def test_the_fixes_of_the_rules_settle(raw: bytes) -> None:
    checker = CHECK
    assert checker is not None

    def check(source: Source) -> list[Finding]:
        return list(checker(source).findings)

    first = fix_text(Source.from_bytes(raw, "t.py"), check, unsafe=True)
    if not any("do not settle" in line for line in first.rolled_back):
        assert fix_text(first.source_after, check, unsafe=True).source_after.text == first.source_after.text
