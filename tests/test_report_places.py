"""Where things stand: units of columns, notebooks, fixes in terms of the file, paths."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lora_lint import fix as fixes
from lora_lint.findings import Applicability, Edit, Finding, Fix, Position, Severity, Span, Step
from lora_lint.notebook import Notebook
from lora_lint.report.places import Unit, column, place, relative, replacements, root, uri, whole_lines
from lora_lint.source import Source

WIDE = '名前 = "😀"; bad()\n'


def span(line: int, first: int, last: int, end_line: int | None = None) -> Span:
    return Span(Position(line, first), Position(end_line or line, last))


def step(where: Span, path: str = "train.py") -> Step:
    return Step(where, "", path)


def fix(*edits: Edit) -> Fix:
    return Fix("cure", Applicability.SAFE, edits)


def source(text: str) -> Source:
    return Source.from_bytes(text.encode(), "train.py")


def notebook(*cells: str, indent: int | None = 1) -> Notebook:
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": text.splitlines(keepends=True)} for text in cells]
    raw = json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=indent, ensure_ascii=False)
    return Notebook.from_bytes(raw.encode(), "nb.ipynb")


def at(book: Notebook, line: int, text: str) -> tuple[int, int]:
    """The bytes of a text in a line of the module."""
    start = book.offset(Position(line, book.line(line).index(text) + 1))
    return start, start + len(text.encode())


@pytest.mark.parametrize(("unit", "first", "last"), [(Unit.CODE_POINTS, 11, 14), (Unit.UTF_16, 12, 15), (Unit.UTF_8, 18, 21)])
def test_columns_behind_an_emoji_and_a_chinese_identifier(unit: Unit, first: int, last: int) -> None:
    assert place(step(span(1, 11, 14)), source(WIDE), unit).file == span(1, first, last)
    assert place(step(span(1, 11, 14)), source(WIDE), unit).shown == span(1, 11, 14)


def test_a_column_behind_the_end_of_its_line_stays_behind_it() -> None:
    assert column("é", 4, Unit.UTF_8) == 5
    assert place(step(span(9, 4, 4)), source("x\n"), Unit.UTF_8).file == span(9, 4, 4)


def test_without_a_source_a_place_is_what_the_finding_says() -> None:
    found = place(Finding("LL900", "syntax-error", Severity.ERROR, "m", "gone.py", span(2, 3, 4)), None, Unit.UTF_8)
    assert (found.text, found.file) == ("gone.py:2:3", span(2, 3, 4))


def test_a_notebook_shows_the_cell_and_names_the_line_of_the_file() -> None:
    book = notebook("x = 1", '名前 = "😀"; bad()\ny = 2')
    found = place(step(span(4, 11, 14), "nb.ipynb"), book)
    assert (found.cell, found.text, found.shown) == (2, "nb.ipynb:cell 2:1:11", span(1, 11, 14))
    lines = book.encode(book.text).decode().split("\n")
    line = next(i for i, text in enumerate(lines, 1) if "bad" in text)
    first = lines[line - 1].index("bad") + 1
    assert found.file == span(line, first, first + 3)
    in_bytes = place(step(span(4, 11, 14), "nb.ipynb"), book, Unit.UTF_8).file
    assert lines[line - 1].encode()[in_bytes.start.column - 1 : in_bytes.end.column - 1] == b"bad"


def test_a_span_that_leaves_its_cell_ends_where_it_starts() -> None:
    found = place(step(span(2, 1, 1, 3), "nb.ipynb"), notebook("x = 1", "y = 2"))
    assert found.shown == span(1, 1, 1)
    assert found.file.start == found.file.end


def test_a_fix_of_a_script_is_its_edits() -> None:
    text = source("é = 1\nb = 2\n")
    first, second = replacements(fix(Edit(9, 10, "c"), Edit(0, 2, "a")), text)
    assert (first.span, first.text, first.start, first.end) == (span(1, 1, 2), "a", 0, 1)
    assert (second.span, second.text, second.start, second.end) == (span(2, 3, 4), "c", 8, 9)


@pytest.mark.parametrize("indent", [None, 1, 2])
def test_a_fix_of_a_notebook_is_replacements_in_its_json(indent: int | None) -> None:
    book = notebook("import torch\nx = old(1)", 'y = old("q")\nz = 3', indent=indent)
    start = book.line_offsets[2]
    edits = fix(Edit(start, start, "import peft\n"), Edit(*at(book, 3, "old"), "new"), Edit(*at(book, 5, 'old("q")'), 'new("r")\nw = 1'))
    made = replacements(edits, book)
    assert len(made) == 2, "one for each cell"
    raw, end, pieces = book.encode(book.text).decode(), 0, []
    for one in made:
        pieces += [raw[end : one.start], one.text]
        end = one.end
    text = "".join([*pieces, raw[end:]])
    assert ["".join(cell["source"]) for cell in json.loads(text)["cells"]] == ["import torch\nimport peft\nx = new(1)", 'y = new("r")\nw = 1\nz = 3']
    assert text.encode() == book.encode(fixes.apply(book.data, [edits])[0].decode())


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("a\nb\nc\n", [Edit(2, 2, "x\n")], (2, 2, "x\nb")),
        ("a\nb\nc\n", [Edit(2, 3, "x")], (2, 2, "x")),
        ("a\nb\nc\n", [Edit(2, 4, "")], (2, 3, "c")),
        ("a\nb\nc\n", [Edit(4, 6, "")], (2, 3, "b")),
        ("a\nb\nc", [Edit(5, 5, "d")], (3, 3, "cd")),
        ("a\nb\n", [Edit(4, 4, "c\n")], (2, 2, "b\nc")),
        ("a\r\nb\r\nc\r\n", [Edit(3, 4, "x\r\ny")], (2, 2, "x\r\ny")),
        ("a\nb\nc\nd\n", [Edit(0, 1, "x"), Edit(4, 5, "y")], (1, 3, "x\nb\ny")),
        ("a\nb\n", [Edit(2, 3, "")], (1, 2, "a\n")),
        ("b\na\n", [Edit(0, 1, "")], (1, 2, "\na")),
        ("a\n", [Edit(0, 2, "")], None),
        ("a\n" * 30, [Edit(0, 1, "x"), Edit(58, 59, "y")], None),
        ("a\n", [], None),
    ],
)
def test_a_fix_as_whole_lines(text: str, edits: list[Edit], expected: tuple[int, int, str] | None) -> None:
    made = whole_lines(fix(*edits), source(text), 20)
    assert (made and (made.first, made.last, made.text)) == expected


@given(st.data())
def test_whole_lines_give_what_the_edits_give(data: st.DataObject) -> None:
    text = data.draw(st.text("aé😀\n", min_size=1, max_size=12)) + "x\n"
    raw = text.encode()
    bounds = [len(text[:i].encode()) for i in range(len(text) + 1)]
    ends = sorted(data.draw(st.lists(st.sampled_from(bounds), min_size=2, max_size=4).filter(lambda found: len(found) % 2 == 0)))
    edits = [Edit(a, b, data.draw(st.text("bé\n", max_size=3))) for a, b in zip(ends[::2], ends[1::2], strict=True)]
    cure = fix(*edits)
    after, applied = fixes.apply(raw, [cure])
    made = whole_lines(cure, source(text), 50)
    if made is None or not applied or len(set(edits)) != len(edits) or ends[1] in ends[2:]:
        return
    lines = text.split("\n")
    result = "\n".join([*lines[: made.first - 1], made.text, *lines[made.last :]])
    assert result.removesuffix("\n") == after.decode().removesuffix("\n")


def test_whole_lines_of_a_notebook_are_lines_of_its_json() -> None:
    made = whole_lines(fix(Edit(*at(book := notebook("x = old(1)\ny = 2"), 2, "old"), "new")), book, 20)
    assert made is not None
    lines = book.encode(book.text).decode().split("\n")
    lines[made.first - 1 : made.last] = made.text.split("\n")
    assert json.loads("\n".join(lines))["cells"][0]["source"] == ["x = new(1)\n", "y = 2"]


def test_paths_are_relative_to_the_checkout_and_absolute_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "repo" / "src"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    base = str(tmp_path / "repo")
    assert relative("a b.py", base) == "src/a b.py"
    assert relative("../..x.py", base) == "..x.py"
    assert uri("ü b%.py", base) == "src/%C3%BC%20b%25.py"
    assert relative("../../other.py", base) == (tmp_path / "other.py").as_posix()
    assert uri("../../other.py", base) == (tmp_path / "other.py").as_uri()
    link = tmp_path / "link"
    link.symlink_to(base, target_is_directory=True)
    assert relative("a.py", str(link)) == "src/a.py"


def test_paths_have_forward_slashes_and_can_be_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert relative(os.fsdecode(b"\xff.py"), os.getcwd()) == "\N{REPLACEMENT CHARACTER}.py"
    assert uri(os.fsdecode(b"\xff.py"), os.getcwd()) == "%FF.py"
    monkeypatch.setattr(os, "sep", "\\")
    assert relative(r"src\train.py", os.getcwd()) == "src/train.py"


def test_the_checkout_is_what_the_service_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert root({"GITHUB_WORKSPACE": "/w", "CI_PROJECT_DIR": "/p"}) == "/w"
    assert root({"CI_PROJECT_DIR": "/p"}) == "/p"
    assert root({}) == os.getcwd()
