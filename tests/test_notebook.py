"""Notebooks as modules, and edits put back byte for byte."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lora_lint import codes
from lora_lint.config import Settings
from lora_lint.dependencies import Detector
from lora_lint.engine import check_and_fix, check_source
from lora_lint.findings import Edit, Position
from lora_lint.notebook import Notebook
from lora_lint.source import Source, SourceError, source_of

LOAD = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("facebook/opt-350m", quantization_config=BitsAndBytesConfig(load_in_4bit=True))"""
WRAP = 'model = get_peft_model(model, LoraConfig(r=8, task_type="CAUSAL_LM"))'
TRAIN = """args = TrainingArguments("out", gradient_checkpointing=True)
Trainer(model=model, args=args, train_dataset=data).train()"""


def cell(text: str | list[str], kind: str = "code") -> dict[str, Any]:
    more: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, **more, "source": text}


def document(*cells: dict[str, Any] | str, language: str = "python") -> dict[str, Any]:
    made = [cell(one.splitlines(keepends=True)) if isinstance(one, str) else one for one in cells]
    return {"cells": made, "metadata": {"kernelspec": {"display_name": "K", "language": language, "name": "k"}}, "nbformat": 4, "nbformat_minor": 4}


def notebook(*cells: dict[str, Any] | str, indent: int | None = 1, **more: str) -> Notebook:
    return Notebook.from_bytes(json.dumps(document(*cells, **more), indent=indent).encode(), "nb.ipynb")


def code(source: Source) -> list[str]:
    """The lines of the module without our own comments."""
    lines = (re.sub(r"\s*# lora-lint-cell\S* [\d.]+$", "", line) for line in source.text.splitlines())
    return [line for line in lines if line.strip()]


def test_code_cells_are_joined_in_order() -> None:
    source = notebook("x = 1\ny = 2", cell("# Title", "markdown"), cell("z = 3"))
    assert code(source) == ["x = 1", "y = 2", "z = 3"]
    assert [one.number for one in source.cells] == [1, 2]
    assert source.place(Position(3, 2)) == (1, Position(2, 2))
    assert source.place(Position(5, 1)) == (2, Position(1, 1))
    assert source.line(5) == "z = 3"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("%matplotlib inline\nx = 1", ["pass", "x = 1"]),
        ("!pip install -q peft \\\n  transformers\nx = 1", ["pass", "x = 1"]),
        ("if a:\n    !uv pip install -q \\\n        'torch>=2' \\\n        git+https://example.com/x@0add682\nx = 1", ["if a:", "    pass", "x = 1"]),
        ("files = !ls\nx = 1", ["files = ...", "x = 1"]),
        ("t = %timeit -o f()", ["t = ..."]),
        ("%time y = f()", ["pass"]),
        ("model?\n?model\nmodel.train??", ["pass", "pass", "pass"]),
        ("pip install peft\nx = 1", ["pass", "x = 1"]),
        ("if a:\n    !ls\n    x = 1", ["if a:", "    pass", "    x = 1"]),
        ("%%capture\nx = 1", ["x = 1"]),
        ("%%capture out\n!pip install peft\nx = 1", ["pass", "x = 1"]),
        ("%%bash\npip install peft\nls", []),
        ("%%writefile train.py\nimport torch", []),
        ("x = a % b\ny = '''\n!pip\n'''\nz = a !=\\\n b", ["x = a % b", "y = '''", "!pip", "'''", "z = a !=\\", " b"]),
        ("await f()", ["await f()"]),
        ("", []),
    ],
)
def test_what_is_no_python_is_masked(text: str, kept: list[str]) -> None:
    source = notebook("first = 0", text, "last = 1")
    assert code(source) == ["first = 0", *kept, "last = 1"]
    assert not source.problems
    _ = source.module
    assert source.encode(source.text) == json.dumps(document("first = 0", text, "last = 1"), indent=1).encode()
    assert source.original.splitlines()[3 : 3 + len(text.splitlines())] == text.splitlines()


def test_a_broken_cell_hides_no_other() -> None:
    source = notebook(LOAD, "this is some prose about it", WRAP, TRAIN)
    assert [(str(one), source.place(one.position)[0]) for one in source.problems if one.position] == [("syntax error: invalid syntax", 2)]
    result = check_source(source, Settings(frozenset(codes.names())))
    assert [finding.code for finding in result.findings] == ["LL900", "LL201"]
    assert result.error is None
    assert [finding.code for finding in check_source(notebook("some prose here, no library"), Settings(frozenset(codes.names()))).findings] == []


def test_other_kernels_say_nothing() -> None:
    assert notebook("library(peft)", language="R").cells == ()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a notebook: Expecting value"),
        (b"{", "not a notebook: Expecting property name"),
        (b"[]", "not a notebook: it has no cells"),
        (b'{"worksheets": []}', "a notebook of format 3 or older"),
        (b'{"cells": [{"cell_type": "code", "source": 3}]}', "not a notebook: the source of code cell 1 is no text"),
        (b'{"cells": "\xff"}', "cannot decode as utf-8"),
        (b"[" * 100_000, "not a notebook: "),
    ],
)
def test_what_is_no_notebook_is_one_line(raw: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=re.escape(message)) as caught:
        source_of(raw, "nb.ipynb")
    assert "\n" not in str(caught.value)


def fixed(raw: bytes) -> bytes:
    result = check_and_fix(source_of(raw, "nb.ipynb"), Settings(frozenset(codes.names())))
    assert [finding.code for finding in result.fixed] == ["LL201"]
    assert result.source is not None
    return result.source.encode(result.source.text)


STYLES = {
    "indent 1": {"indent": 1},
    "indent 2, unicode as it is": {"indent": 2, "ensure_ascii": False},
    "tabs": {"indent": "\t"},
    "one line": {"separators": (",", ":")},
    "sorted keys": {"indent": 1, "sort_keys": True},
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("frame", [(b"", b"\n"), (b"\xef\xbb\xbf", b""), (b"", b"\r\n")])
def test_a_fix_changes_the_lines_that_it_must_and_no_other_byte(style: str, listed: bool, frame: tuple[bytes, bytes]) -> None:
    def lines(text: str) -> list[str] | str:
        return text.splitlines(keepends=True) if listed else text

    def write(wrap: str, imports: str) -> bytes:
        texts = ("!pip install peft\n# 微调 😀\n%load_ext x", imports, "# <script>\n" + wrap, TRAIN)
        cells = [cell(lines(text)) for text in texts]
        text = json.dumps(document(*cells), **STYLES[style])  # type: ignore[arg-type]
        if frame[1] == b"\r\n":
            text = text.replace("\n", "\r\n")
        return frame[0] + text.encode() + frame[1]

    prepared = LOAD.replace("get_peft_model\n", "get_peft_model, prepare_model_for_kbit_training\n")
    after = fixed(write(WRAP, LOAD))
    assert after == write(WRAP, prepared + "\nmodel = prepare_model_for_kbit_training(model)")
    nbformat.validate(json.loads(after.decode("utf-8-sig")))


def test_odd_spellings_elsewhere_stay() -> None:
    raw = json.dumps(document(LOAD, WRAP, TRAIN)).encode()
    odd = raw.replace(b'"nbformat": 4', b'"nbformat" :4.0e0,"x":"<\\/script>\\u00e9"')
    odd = odd.replace(b'"metadata": {}, "outputs"', b'"metadata":{ },"outputs"')
    after = fixed(odd)
    assert b'"nbformat" :4.0e0,"x":"<\\/script>\\u00e9"' in after
    assert after.count(b'"metadata":{ },"outputs"') == odd.count(b'"metadata":{ },"outputs"') > 0


def test_no_edit_on_a_masked_line_or_across_cells() -> None:
    source = notebook("x = 1\n!ls\ny = 2", "z = 3")
    start = source.data.index
    assert source.editable(Edit(start(b"x"), start(b"x") + 1, "w"))
    assert source.editable(Edit(start(b"pass"), start(b"pass"), "a = 1\n"))
    assert not source.editable(Edit(start(b"pass"), start(b"pass"), "a = 1"))
    assert not source.editable(Edit(start(b"pass") + 1, start(b"pass") + 2, ""))
    assert not source.editable(Edit(start(b"y = 2"), start(b"z"), ""))
    marker = start(b"# lora-lint-cell 2\n")
    assert source.editable(Edit(marker, marker, "a = 1\n"))
    assert source.editable(Edit(start(b"y = 2"), marker, ""))
    assert not source.editable(Edit(marker, marker, "a = 1"))
    assert source.editable(Edit(start(b"z"), start(b"z"), "a = 1\n"))
    magic = notebook("%%time\nx = 1")
    first = magic.data.index(b"# lora-lint-cell 1.0")
    assert not magic.editable(Edit(first, first, "a = 1\n"))


def test_places_in_the_file() -> None:
    text = 'a = "\U0001f600é"\nb = 1\n'
    for dumped in (json.dumps(document(text), indent=1), json.dumps(document(cell(text)), indent=1, ensure_ascii=False)):
        source = Notebook.from_bytes(dumped.encode(), "nb.ipynb")
        lines = dumped.split("\n")
        for line, column, char in ((2, 1, "a"), (2, 8, '\\"'), (3, 1, "b"), (3, 5, "1")):
            found = source.in_file(Position(line, column))
            assert lines[found.line - 1][found.column - 1 :].startswith(char)


LINE = st.sampled_from(
    ["x = 1", "", "!ls", "%time f()", "y = !ls", "if x:", "    pass", "(", "'''", "a\\", "%%bash", "é😀", "f?", "#", "\t", "x = 1\r"]
)


@given(st.lists(st.lists(LINE, max_size=6), max_size=5), st.booleans(), st.sampled_from([None, 1]))
def test_any_notebook_is_read_and_written_as_it_was(cells: list[list[str]], ascii_only: bool, indent: int | None) -> None:
    raw = json.dumps(document(*("\n".join(lines) for lines in cells)), ensure_ascii=ascii_only, indent=indent).encode()
    source = Notebook.from_bytes(raw, "nb.ipynb")
    assert source.encode(source.text) == raw
    assert len(source.text.splitlines()) <= sum(max(len(lines), 1) + 1 for lines in cells)
    _ = source.module
    for line in range(1, source.text.count("\n") + 1):
        source.in_file(Position(line, 1))


def test_a_notebook_in_a_folder_is_found(tmp_path: Path) -> None:
    file = tmp_path / "train.ipynb"
    file.write_bytes(json.dumps(document(LOAD, WRAP, TRAIN), indent=1).encode())
    source = Source.read(file)
    assert [finding.code for finding in check_source(source, Settings(frozenset(codes.names()))).findings] == ["LL201"]


def test_pip_lines_of_a_notebook_are_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.ipynb"
    file.write_bytes(json.dumps(document("import os", "%%capture\n!pip install -q \\\n  transformers==4.44.2", LOAD, WRAP, TRAIN), indent=1).encode())
    result = check_source(Source.read(file), Settings(frozenset(codes.names())), detector=Detector())
    assert [(finding.code, finding.severity.value) for finding in result.findings] == [("LL201", "error")]
    assert "on transformers 4.44.2 (train.ipynb:cell 2:3); " in result.findings[0].versions
