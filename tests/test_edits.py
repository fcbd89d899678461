"""Each editor operation on the shapes that real scripts have: (before, after), and ``None`` where the result would not surely be right."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst
import pytest

from lora_lint.edits import Editor, collect
from lora_lint.findings import Applicability, Edit, Fix
from lora_lint.fix import apply
from lora_lint.source import Source

Answer = Edit | tuple[Edit, ...] | None
Case = tuple[str, str | None]


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from walk(child)


def source_of(text: str) -> Source:
    return Source.from_bytes(text.encode("utf-8"), "t.py")


def call_of(source: Source, callee: str = "f") -> cst.Call:
    """The first call of a name or attribute that ends in ``callee``."""
    for node in walk(source.module):
        if isinstance(node, cst.Call):
            func = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
            if isinstance(func, cst.Name) and func.value == callee:
                return node
    raise AssertionError(callee)


def statement_of(source: Source, name: str) -> cst.CSTNode:
    """The small statement ``name`` or ``name()``, or the function or class of that name."""
    for node in walk(source.module):
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)) and node.name.value == name:
            return node
        if (
            isinstance(node, cst.BaseSmallStatement)
            and source.module.code_for_node(node.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)).removesuffix("()") == name
        ):
            return node
    raise AssertionError(name)


def result(source: Source, answer: Answer) -> str | None:
    edits = collect(answer)
    if edits is None:
        return None
    data, applied = apply(source.data, [Fix("t", Applicability.SAFE, edits)] if edits else [])
    assert len(applied) == bool(edits)
    text = data.decode("utf-8")
    cst.parse_module(text)
    return text


def check(case: Case, edit: Callable[[Source, Editor], Answer]) -> None:
    """The edit does what the case says, with LF and with CRLF line endings."""
    before, after = case
    for newline in ("\n", "\r\n") if "\n" in before else ("\n",):
        source = source_of(before.replace("\n", newline))
        got = result(source, edit(source, Editor(source)))
        assert got == (None if after is None else after.replace("\n", newline))


ADD_KEYWORD: list[Case] = [
    ("f()", "f(k=1)"),
    ("f( )\n", "f(k=1 )\n"),
    ("f(\n)\n", "f(k=1\n)\n"),
    ("f(  # why\n)\n", "f(k=1  # why\n)\n"),
    ("(f)  ()\n", "(f)  (k=1)\n"),
    ("f(a, b)\n", "f(a, b, k=1)\n"),
    ("f(a,)\n", "f(a, k=1,)\n"),
    ("f(a, b, )\n", "f(a, b, k=1, )\n"),
    ("f(\n    a,\n    b,\n)\n", "f(\n    a,\n    b,\n    k=1,\n)\n"),
    ("f(\n    a,\n    b\n)\n", "f(\n    a,\n    b,\n    k=1\n)\n"),
    ("f(\n\ta,\n\tb,  # last\n)\n", "f(\n\ta,\n\tb,  # last\n\tk=1,\n)\n"),
    ("f(\n    a,\n    b  # last, with a comma\n)\n", "f(\n    a,\n    b,  # last, with a comma\n    k=1\n)\n"),
    ("f(a,\n  b)\n", "f(a,\n  b,\n  k=1)\n"),
    ("f(\n    a, b\n)\n", "f(\n    a, b, k=1\n)\n"),
    ("f(\n    a, b,  # both\n)\n", "f(\n    a, b, k=1,  # both\n)\n"),
    ("x = g(f(a) + 1)\n", "x = g(f(a, k=1) + 1)\n"),
    ("f((a))\n", "f((a), k=1)\n"),
    ('f("ä", """\n  x""")\n', 'f("ä", """\n  x""", k=1)\n'),
    ("f(**{'a': 1})\n", "f(**{'a': 1}, k=1)\n"),
    ("f((i for i in x))\n", "f((i for i in x), k=1)\n"),
    ("@f(a)\ndef g(): pass\n", "@f(a, k=1)\ndef g(): pass\n"),
    ("f(i for i in x)\n", None),
    ("f(**kw)\n", None),
    ("f(*args)\n", None),
    ("f(**{'k': 2})\n", None),
    ("f(**{**a})\n", None),
    ("f(k=2)\n", None),
    ("f'{f(a)}'\n", None),
]


@pytest.mark.parametrize("case", ADD_KEYWORD)
def test_add_keyword(case: Case) -> None:
    check(case, lambda s, e: e.add_keyword(call_of(s), "k=1"))


REMOVE_ARGUMENT: list[Case] = [
    ("f(k=1)\n", "f()\n"),
    ("f(\n    k=1,\n)\n", "f()\n"),
    ("f(\n    # keep\n    k=1,\n)\n", "f(\n    # keep\n)\n"),
    ("f(a, k=1)\n", "f(a)\n"),
    ("f(a, k=1,)\n", "f(a,)\n"),
    ("f(k=1, b=2)\n", "f(b=2)\n"),
    ("f(a, k=1, b=2)\n", "f(a, b=2)\n"),
    ("f(\n    a,\n    k=1,  # gone\n    b=2,\n)\n", "f(\n    a,\n    b=2,\n)\n"),
    ("f(\n    a,\n    k=1\n)\n", "f(\n    a\n)\n"),
    ("f(\n    a,  # first\n    k=1\n)\n", "f(\n    a,  # first\n)\n"),
    ("f(a,  # first\n  k=1)\n", "f(a,  # first\n  )\n"),
    ("f(k=1,  # gone\n  b=2)\n", "f(# gone\n  b=2)\n"),
    ("f(a,\n  k=1)\n", "f(a)\n"),
    ("f(\n    k=g(\n        1,\n    ),\n    b=2,\n)\n", "f(\n    b=2,\n)\n"),
    ("f(a, k=(1), **kw)\n", "f(a, **kw)\n"),
]


@pytest.mark.parametrize("case", REMOVE_ARGUMENT)
def test_remove_keyword_argument(case: Case) -> None:
    def edit(source: Source, editor: Editor) -> Answer:
        call = call_of(source)
        return editor.remove_argument(call, next(a for a in call.args if a.keyword and a.keyword.value == "k"))

    check(case, edit)


@pytest.mark.parametrize(
    "case", [("f(a, b)\n", None), ("f(a, *b)\n", None), ("f(a, k=1)\n", "f(k=1)\n"), ("f(a, **b)\n", "f(**b)\n"), ("f(a)\n", "f()\n")]
)
def test_remove_positional_argument_only_where_no_other_moves(case: Case) -> None:
    check(case, lambda s, e: e.remove_argument(call_of(s), call_of(s).args[0]))


def test_remove_argument_of_another_call() -> None:
    source = source_of("f(a)\ng(b)\n")
    assert Editor(source).remove_argument(call_of(source, "f"), call_of(source, "g").args[0]) is None


REMOVE_METHOD_CALL: list[Case] = [
    ("y = x.f()\n", "y = x\n"),
    ("y = (a + b).f() * 2\n", "y = (a + b) * 2\n"),
    ("y = x.f(a, k=1).mean()\n", "y = x.mean()\n"),
    ("y = x . f ( )\n", "y = x\n"),
    ("y = (x\n     .f()\n     .g())\n", "y = (x\n     .g())\n"),
    ("y = x.f()if a else b\n", "y = x if a else b\n"),
    ("y = (await z).f()\n", "y = (await z)\n"),
    ("print(f'{x.f()}')\n", "print(f'{x}')\n"),
    ("y = (x  # why\n     .f())\n", None),
    ("y = x.f(  # why\n)\n", None),
    ("y = f(x)\n", None),
]


@pytest.mark.parametrize("case", REMOVE_METHOD_CALL)
def test_remove_method_call(case: Case) -> None:
    check(case, lambda s, e: e.remove_method_call(call_of(s)))


REPLACE: list[tuple[str, str, str | None]] = [
    ("y = f()\n", "a or b", "y = a or b\n"),
    ("y = -f()\n", "a or b", "y = -(a or b)\n"),
    ("y = (f())\n", "a or b", "y = (a or b)\n"),
    ("y = f().g\n", "1", "y = (1).g\n"),
    ("y = f() + 1\n", "g(1)", "y = g(1) + 1\n"),
    ("y(f())\n", "a, b", "y((a, b))\n"),
    ("y = 1 if(f())else 2\n", "a", "y = 1 if(a)else 2\n"),
    ("y = [f()for _ in z]\n", "a", "y = [a for _ in z]\n"),
    ("y(f())\n", "g(\n    1,\n)", "y(g(\n    1,\n))\n"),
    ("y(f'{f()}')\n", "a", "y(f'{a}')\n"),
    ("y(f'{f()}')\n", "g('a')", None),
]


@pytest.mark.parametrize(("before", "text", "after"), REPLACE)
def test_replace(before: str, text: str, after: str | None) -> None:
    check((before, after), lambda s, e: e.replace(call_of(s), text))


def test_replace_of_a_keyword_name() -> None:
    check(("f(old=1)\n", "f(new=1)\n"), lambda s, e: e.replace(call_of(s).args[0].keyword or s.module, "new"))


INSERT_BEFORE: list[Case] = [
    ("s()\n", "new()\ns()\n"),
    ("s()", "new()\ns()"),
    ("a = 1\n# about s\ns()\n", "a = 1\nnew()\n# about s\ns()\n"),
    ('a = """\n# text"""\ns()\n', 'a = """\n# text"""\nnew()\ns()\n'),
    ("if x:\n\ty()\n\tif z:\n\t\ts()\n", "if x:\n\ty()\n\tif z:\n\t\tnew()\n\t\ts()\n"),
    ("if x:\n    y()\n    # footer\n# about s\ns()\n", "if x:\n    y()\n    # footer\nnew()\n# about s\ns()\n"),
    ("if x: s()\n", "if x: new(); s()\n"),
    ("a; s()\n", "a; new(); s()\n"),
    ("s(); a\n", "new()\ns(); a\n"),
    ("a\n# d\n@d\n@e\ndef s():\n    pass\n", "a\nnew()\n# d\n@d\n@e\ndef s():\n    pass\n"),
    ("#!/usr/bin/python\ns()\n", "#!/usr/bin/python\nnew()\ns()\n"),
    ("class s: pass\n", "new()\nclass s: pass\n"),
    ("try:\n  a\nexcept E:\n  s()\n", "try:\n  a\nexcept E:\n  new()\n  s()\n"),
    ("match a:\n    case 1:\n        s()\n", "match a:\n    case 1:\n        new()\n        s()\n"),
    ("if x:\n    a\\\n\nelse: s()\n", "if x:\n    a\\\n\nelse: new(); s()\n"),
    ("a\\\n.b\ns()\n", "a\\\n.b\nnew()\ns()\n"),
]


@pytest.mark.parametrize("case", INSERT_BEFORE)
def test_insert_before(case: Case) -> None:
    check(case, lambda s, e: e.insert_before(statement_of(s, "s"), "new()"))


INSERT_AFTER: list[Case] = [
    ("s()\n", "s()\nnew()\n"),
    ("s()", "s()\nnew()"),
    ("s()  # c", "s()  # c\nnew()"),
    ("s()  # c\n# about a\na\n", "s()  # c\nnew()\n# about a\na\n"),
    ("if x:\n\ts() ;\n\ty()\n", "if x:\n\ts() ;\n\tnew()\n\ty()\n"),
    ("if x: s()\n", "if x: s(); new()\n"),
    ("if x: s();\n", "if x: s(); new();\n"),
    ("s(); a\n", "s(); new(); a\n"),
    ("a; s()\n", "a; s()\nnew()\n"),
    ("if x:\n    def s():\n        a\n        # footer\n    b\n", "if x:\n    def s():\n        a\n        # footer\n    new()\n    b\n"),
    ("@d\nclass s:\n    def f(self): pass  # c", "@d\nclass s:\n    def f(self): pass  # c\nnew()"),
    (
        "def s():\n  try: a\n  except E: b\n  else:\n    c\n  finally:\n    d;\nx\n",
        "def s():\n  try: a\n  except E: b\n  else:\n    c\n  finally:\n    d;\nnew()\nx\n",
    ),
    ("def s():\n  match a:\n    case 1: b\nx\n", "def s():\n  match a:\n    case 1: b\nnew()\nx\n"),
    ("s() \\\n\na\n", "s() \\\n\nnew()\na\n"),
    ("s()\nfrom __future__ import annotations\n", None),
]


@pytest.mark.parametrize("case", INSERT_AFTER)
def test_insert_after(case: Case) -> None:
    check(case, lambda s, e: e.insert_after(statement_of(s, "s"), "new()"))


def test_insert_lines_and_blocks() -> None:
    code = "with a:\n    b()\n\nc()"
    check(("def g():\n  s()\n", "def g():\n  s()\n  with a:\n      b()\n\n  c()\n"), lambda s, e: e.insert_after(statement_of(s, "s"), code))
    check(("if x: s()\n", None), lambda s, e: e.insert_after(statement_of(s, "s"), code))
    check(("s(); a\n", None), lambda s, e: e.insert_after(statement_of(s, "s"), "if a: b"))
    check(("a; s()\n", None), lambda s, e: e.insert_before(statement_of(s, "s"), "b  # c"))
    check(("a; s()\n", None), lambda s, e: e.insert_before(statement_of(s, "s"), "b ="))
    check(("  \ns()\n", None), lambda s, e: e.insert_before(statement_of(s, "s"), 'a = """\n"""'))


def test_no_insertion_after_a_jump_or_before_what_must_be_first() -> None:
    check(("def g():\n    return\n", None), lambda s, e: e.insert_after(statement_of(s, "return"), "new()"))
    check(("for x in y: break\n", None), lambda s, e: e.insert_after(statement_of(s, "break"), "new()"))
    check(('def g():\n    "doc"\n', None), lambda s, e: e.insert_before(statement_of(s, '"doc"'), "new()"))
    check(("from __future__ import x\n", None), lambda s, e: e.insert_before(s.module.body[0], "new()"))


@pytest.mark.parametrize("text", ["\\\ns(a)\n", "b\n\x0cs(a)\n"])
def test_no_edit_where_the_tree_does_not_write_the_text(text: str) -> None:
    source = source_of(text)
    editor, call, stmt = Editor(source), call_of(source, "s"), source.module.body[-1]
    assert editor.replace(call, "b") is editor.add_keyword(call, "k=1") is editor.remove_argument(call, call.args[0]) is None
    assert editor.insert_before(stmt, "b") is editor.insert_after(stmt, "b") is editor.delete_statement(stmt) is None


def test_an_elif_is_no_statement_of_a_block() -> None:
    def edit(source: Source, editor: Editor) -> Answer:
        (statement,) = source.module.body
        assert isinstance(statement, cst.If)
        assert isinstance(statement.orelse, cst.If)
        assert editor.delete_statement(statement.orelse) is None
        assert editor.insert_after(statement.orelse, "new()") is None
        return editor.insert_before(statement.orelse, "new()")

    check(("if x:\n    a\nelif y:\n    b\n", None), edit)


DELETE: list[Case] = [
    ("a\ns()\nb\n", "a\nb\n"),
    ("s()\n", ""),
    ("s()", ""),
    ("a\ns()  # c", "a\n"),
    ("s(); a\n", "a\n"),
    ("a; s()\n", "a\n"),
    ("a; s() ; b\n", "a; b\n"),
    ("a; s();\n", "a;\n"),
    ("if x: s()\n", "if x: pass\n"),
    ("if x: s(); a\n", "if x: a\n"),
    ("if x:\n    # c\n    s()  # d\nelse: a\n", "if x:\n    # c\n    pass  # d\nelse: a\n"),
    ("if x:\n    s()\n    a\n", "if x:\n    a\n"),
    ("if x:\n    a\n    @d\n    def s():\n        b\n        # c\n    # e\nf\n", "if x:\n    a\n    # e\nf\n"),
    ("class A:\n    @d\n    def s(self):\n        b\n", "class A:\n    pass\n"),
    ("a\n(s())\n", None),
]


@pytest.mark.parametrize("case", [c for c in DELETE if c[1] is not None])
def test_delete_statement(case: Case) -> None:
    check(case, lambda s, e: e.delete_statement(statement_of(s, "s")))


def test_delete_a_whole_line_of_statements() -> None:
    check(
        ("if x:\n    a; b  # c\n", "if x:\n    pass  # c\n"),
        lambda s, e: e.delete_statement(next(n for n in walk(s.module) if isinstance(n, cst.SimpleStatementLine))),
    )
    check(("a; b  # c\nd\n", "d\n"), lambda s, e: e.delete_statement(s.module.body[0]))
    check(("f(a)\n", None), lambda s, e: e.delete_statement(call_of(s)))


UNWRAP: list[tuple[str, int, str | None]] = [
    ("with a:\n    b\n    if c:\n        d\ne\n", 0, "b\nif c:\n    d\ne\n"),
    ("if x:\n\twith a:  # c\n\t\t# lead\n\n\t\tb(\n\t\t\t1,\n\t)\n\t\t# foot\n\td\n", 0, "if x:\n\t# lead\n\n\tb(\n\t\t1,\n\t)\n\t# foot\n\td\n"),
    ("with a: b; c\n", 0, "b; c\n"),
    ("with a:\n    b", 0, "b"),
    ("with f(\n    a,\n):\n    b\n", 0, "b\n"),
    ("with (\n    a\n):\n    @d\n    def g(): pass\n", 0, "@d\ndef g(): pass\n"),
    ("async def g():\n    async with a:\n        b\n", 0, "async def g():\n    b\n"),
    ("with a:\n    b(\"x\", 'y')\n", 0, "b(\"x\", 'y')\n"),
    ('with a:\n    b("""x\n    y""")\n', 0, None),
    ("with a:\n    b('x\\\n    y')\n", 0, None),
    ('with a:\n    b(f"""{x}\n    y""")\n', 0, None),
    ('with a: b = """\n  x"""\n', 0, 'b = """\n  x"""\n'),
    ("with a as x:\n    b\n", 0, None),
    ("with a, b as y, c:\n    d\n", 0, "with b as y, c:\n    d\n"),
    ("with a, b as y, c:\n    d\n", 2, "with a, b as y:\n    d\n"),
    ("with a, b as y, c:\n    d\n", 1, None),
    ("with a, b:\n    d\n", 0, "with b:\n    d\n"),
    ("with a, b:\n    d\n", 1, "with a:\n    d\n"),
    ("with a, \\\n     b:\n    d\n", 1, "with a:\n    d\n"),
    ("with a, \\\n     b:\n    d\n", 0, "with b:\n    d\n"),
    ("with (a, b,):\n    d\n", 0, "with (b):\n    d\n"),
    ("with (a, b):\n    d\n", 1, "with (a):\n    d\n"),
    ("with (\n    a,\n    b,\n):\n    d\n", 0, "with (\n    b\n):\n    d\n"),
    ("with (\n    a,  # c\n    b,\n):\n    d\n", 0, None),
    ("with (\n    a,\n    b,\n    c,  # c\n):\n    d\n", 2, "with (\n    a,\n    b,\n):\n    d\n"),
    ("async def g():\n    async with a, b:\n        d\n", 1, "async def g():\n    async with a:\n        d\n"),
    ("with a:\n    d\n", 1, None),
]


@pytest.mark.parametrize(("before", "index", "after"), UNWRAP)
def test_unwrap_with(before: str, index: int, after: str | None) -> None:
    check((before, after), lambda s, e: e.unwrap_with(next(n for n in walk(s.module) if isinstance(n, cst.With)), index))


DECORATORS: list[Case] = [
    ("@d\ndef g(): pass\n", "def g(): pass\n"),
    (
        "class A:\n    # c\n    @d(\n        1,\n    )  # e\n    @f\n    async def g(self): pass\n",
        "class A:\n    # c\n    @f\n    async def g(self): pass\n",
    ),
    ("@(d)\nclass g: pass\n", "class g: pass\n"),
]


@pytest.mark.parametrize("case", DECORATORS)
def test_remove_decorator(case: Case) -> None:
    def edit(source: Source, editor: Editor) -> Answer:
        func = next(n for n in walk(source.module) if isinstance(n, (cst.FunctionDef, cst.ClassDef)) and n.name.value == "g")
        return editor.remove_decorator(func, func.decorators[0])

    check(case, edit)


# (before, how the name is written, after); the name is m.prep, and it is used at `use`, where the file has such a statement.
IMPORTS: list[tuple[str, str, str]] = [
    ("from m import prep\nuse\n", "prep", "from m import prep\nuse\n"),
    ("from m import prep as p\nuse\n", "p", "from m import prep as p\nuse\n"),
    ("import m\nuse\n", "m.prep", "import m\nuse\n"),
    ("import m as mm\nuse\n", "mm.prep", "import m as mm\nuse\n"),
    ("import m.sub\nuse\n", "m.prep", "import m.sub\nuse\n"),
    ("from m import A, B\n", "prep", "from m import A, B, prep\n"),
    ("from m import A, get, run\n", "prep", "from m import A, get, prep, run\n"),
    ("from m import zz, B\n", "prep", "from m import zz, B, prep\n"),
    ("from m import (A, zz)\n", "prep", "from m import (A, prep, zz)\n"),
    ("from m import (\n    A,  # a\n    zz,\n)\n", "prep", "from m import (\n    A,  # a\n    prep,\n    zz,\n)\n"),
    ("from m import (\n    A,\n    get,  # last\n)\n", "prep", "from m import (\n    A,\n    get,  # last\n    prep,\n)\n"),
    ("from m import (\n    A,\n    get\n)\n", "prep", "from m import (\n    A,\n    get,\n    prep\n)\n"),
    ("from m import (\n    A,\n    # about zz\n    zz,\n)\n", "prep", "from m import (\n    A,\n    # about zz\n    zz,\n    prep,\n)\n"),
    ("from m import A, \\\n    get\n", "prep", "from m import A, \\\n    get, prep\n"),
    ("from m import A, \\\n    zz\n", "prep", "from m import A, \\\n    prep, zz\n"),
    ("import m\nfrom m import A\n", "prep", "import m\nfrom m import A, prep\n"),
    ("from m import *\nimport z\n", "prep", "from m import *\nfrom m import prep\nimport z\n"),
    ("from m.sub import A\nimport z\n", "prep", "from m.sub import A\nfrom m import prep\nimport z\n"),
    ("import a\nimport b; c = 1\n\nd = 1\n", "prep", "import a\nimport b; c = 1\nfrom m import prep\n\nd = 1\n"),
    ("import a", "prep", "import a\nfrom m import prep"),
    ("from .m import A\n", "prep", "from .m import A\nfrom m import prep\n"),
    ('"""doc"""\nfrom __future__ import annotations\nx = 1\n', "prep", '"""doc"""\nfrom __future__ import annotations\nfrom m import prep\nx = 1\n'),
    (
        '#!/usr/bin/python\n# coding: utf-8\n"""doc"""\nx = 1\n',
        "prep",
        '#!/usr/bin/python\n# coding: utf-8\n"""doc"""\n\nfrom m import prep\nx = 1\n',
    ),
    ("#!/usr/bin/python\n# coding: utf-8\nx = 1\n", "prep", "#!/usr/bin/python\n# coding: utf-8\nfrom m import prep\n\nx = 1\n"),
    ("# only a comment", "prep", "# only a comment\nfrom m import prep"),
    ("", "prep", "from m import prep\n"),
    ("def g():\n    from m import A\n    use\n", "prep", "from m import prep\n\ndef g():\n    from m import A\n    use\n"),
    ("def g():\n    from m import prep\n    use\n", "prep", "def g():\n    from m import prep\n    use\n"),
    ("def g():\n    use\n    from m import prep\n", "m.prep", "import m\n\ndef g():\n    use\n    from m import prep\n"),
    ("def g():\n    from m import prep\ndef h():\n    use\n", "prep", "from m import prep\n\ndef g():\n    from m import prep\ndef h():\n    use\n"),
    ("import a\nif TYPE_CHECKING:\n    from m import A\n", "prep", "import a\nfrom m import prep\nif TYPE_CHECKING:\n    from m import A\n"),
    (
        "import a\ntry:\n    from m import A\nexcept ImportError: pass\n",
        "prep",
        "import a\nfrom m import prep\ntry:\n    from m import A\nexcept ImportError: pass\n",
    ),
    ("from m import A\ndef prep(): pass\n", "m.prep", "from m import A\nimport m\ndef prep(): pass\n"),
    ("import m as mm\ndef prep(): pass\n", "mm.prep", "import m as mm\ndef prep(): pass\n"),
    ("from other import prep\n", "m.prep", "from other import prep\nimport m\n"),
    ("import a\nfor prep, m in a: pass\n", "m_module.prep", "import a\nimport m as m_module\nfor prep, m in a: pass\n"),
    ("import a as m\nprep = m_module = 1\n", "m_module_.prep", "import a as m\nimport m as m_module_\nprep = m_module = 1\n"),
    ("import m\ndef g(m): pass\n", "prep", "import m\nfrom m import prep\ndef g(m): pass\n"),
    ("import m\nclass Args:\n    m: bool = False\n", "m.prep", "import m\nclass Args:\n    m: bool = False\n"),
    ("import a\nuse\nfrom m import A\n", "prep", "import a\nfrom m import prep\nuse\nfrom m import A\n"),
    ("import a\nuse\nfrom m import prep\n", "prep", "import a\nfrom m import prep\nuse\nfrom m import prep\n"),
    ("import a\ndef g():\n    use\nfrom m import A\n", "prep", "import a\ndef g():\n    use\nfrom m import A, prep\n"),
    ("from m import A; x = 1\n", "prep", "from m import A, prep; x = 1\n"),
]


@pytest.mark.parametrize(("before", "written", "after"), IMPORTS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_import_name(before: str, written: str, after: str, newline: str) -> None:
    source = source_of(before.replace("\n", newline))
    at = statement_of(source, "use") if "use\n" in before else None
    text, edits = Editor(source).import_name("m", "prep", at)
    if newline in before or newline == "\n":
        assert (text, result(source, edits)) == (written, after.replace("\n", newline))


def test_import_name_of_a_submodule() -> None:
    for before, written in (
        ("import a.b\n", "a.b.n"),
        ("import a.b as ab\n", "ab.n"),
        ("from a import b\n", "b.n"),
        ("from a import b as c\n", "c.n"),
    ):
        assert Editor(source_of(before)).import_name("a.b", "n") == (written, ())
    text, edits = Editor(source_of("import a\nn = 1\n")).import_name("a.b", "n")
    assert (text, [e.text for e in edits]) == ("a.b.n", ["import a.b\n"])


def test_collect() -> None:
    one, two = Edit(0, 0, "a"), Edit(1, 1, "b")
    assert collect(one, (two,), ()) == (one, two)
    assert collect(one, None) is None
