from __future__ import annotations

import time
from pathlib import Path

import pytest

from lora_lint import source as module
from lora_lint.findings import Position, Span
from lora_lint.source import Source, SourceError


def span(first: tuple[int, int], last: tuple[int, int]) -> Span:
    return Span(Position(*first), Position(*last))


@pytest.mark.parametrize(
    ("raw", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        (b"x = 1", "x = 1", "utf-8"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n", "utf-8"),
        ("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"), "# -*- coding: latin-1 -*-\nx = 'é'\n", "iso-8859-1"),
        ("#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\nx = '€'\r\n".encode("cp1252"), None, "cp1252"),
        (b"x = 1\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n", "utf-8"),
    ],
)
def test_text_and_bytes_round_trip(raw: bytes, text: str | None, encoding: str) -> None:
    source = Source.from_bytes(raw, "a.py")
    assert source.encoding == encoding
    if text is not None:
        assert source.text == text
    assert source.encode(source.text) == raw
    assert source.module.code == source.text


@pytest.mark.parametrize(
    ("raw", "message", "position"),
    [
        (b"x = '\xe9'\n", "cannot decode as utf-8: invalid continuation byte", Position(1, 6)),
        (b"# coding: klingon\n", "unknown encoding: klingon", Position(1, 1)),
        (b"x = 1\n\0\0", "contains null bytes: not a Python text file", Position(2, 1)),
        ("x = 1".encode("utf-16"), "contains null bytes: not a Python text file", Position(1, 4)),
    ],
)
def test_what_is_no_text_is_refused(raw: bytes, message: str, position: Position) -> None:
    with pytest.raises(SourceError) as caught:
        Source.from_bytes(raw, "a.py")
    assert (caught.value.message, caught.value.position) == (message, position)


@pytest.mark.parametrize("coding", ["rot13", "unicode_escape"])
def test_codecs_that_give_no_text_are_refused(coding: str) -> None:
    with pytest.raises(SourceError, match="cannot decode as"):
        Source.from_bytes(f"# coding: {coding}\nx = '\\ud800'\n".encode(), "a.py")


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("x = (\n1\n", "syntax error: '(' was never closed", Position(1, 5)),
        ("if 1:\n  x\n y\n", "syntax error: unindent does not match any outer indentation level", None),
        ("print 'hello'\n", "syntax error: Missing parentheses in call to 'print'", Position(1, 1)),
    ],
)
def test_syntax_errors_are_named_as_python_names_them(text: str, message: str, position: Position | None) -> None:
    with pytest.raises(SourceError) as caught:
        _ = Source.from_bytes(text.encode(), "a.py").module
    assert caught.value.message.startswith(message)
    assert caught.value.position is not None
    if position:
        assert caught.value.position == position


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 5000 + "1" + ")" * 5000,
        "x = " + "[" * 100_000,
        "x = 1" + " + 1" * 5000,
        "x = " + "-" * 100_000 + "1",
        "x = a" + ".b()" * 5000,
        "x = " + "lambda: " * 5000 + "1",
        "if x: pass\n" + "elif y: pass\n" * 2000,
        "x = " + "'a' " * 2000,
    ],
)
def test_deep_nesting_is_refused_in_little_time(text: str) -> None:
    source = Source.from_bytes(text.encode(), "a.py")
    started = time.perf_counter()
    with pytest.raises(SourceError, match="nested too deeply"):
        source.span(source.module.body[0])
    assert time.perf_counter() - started < 10


def test_newer_syntax_than_the_running_python_is_not_our_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(text: str) -> None:
        raise SyntaxError("invalid syntax", ("a.py", 1, 1, text))

    monkeypatch.setattr(module.ast, "parse", parse)
    assert Source.from_bytes(b"type A = int\n", "a.py").module.body


def test_positions_and_offsets_agree_beyond_ascii() -> None:
    source = Source.from_bytes("é = '𝄞'; z = 1\r\nif z:\r\n\ty = f(\r\n\t\tz)\r\n".encode(), "a.py")
    first = source.module.body[0].body[1]  # type: ignore[index, union-attr]
    assert source.span(first) == span((1, 10), (1, 15))
    start, end = source.byte_range(first)
    assert source.data[start:end] == b"z = 1"
    inner = source.module.body[1].body.body[0].body[0]  # type: ignore[union-attr, index]
    assert source.span(inner) == span((3, 2), (4, 5))
    start, end = source.byte_range(inner)
    assert source.data[start:end] == b"y = f(\r\n\t\tz)"
    for offset in range(len(source.data) + 1):
        assert source.offset(source.position(offset)) <= offset
    assert source.offset(Position(99, 1)) == len(source.data)
    assert source.line(2) == "if z:"
    assert source.line(99) == ""


def test_newline_is_that_of_most_lines() -> None:
    assert Source.from_bytes(b"a\r\nb\r\nc\n", "a.py").newline == "\r\n"
    assert Source.from_bytes(b"a\r\nb\nc\n", "a.py").newline == "\n"
    assert Source.from_bytes(b"", "a.py").newline == "\n"


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    source = Source.from_bytes(b"# coding: latin-1\nx = 1\n", "a.py")
    with pytest.raises(SourceError, match="encoding iso-8859-1 has no"):
        source.encode("x = '…'")


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match="cannot read"):
        Source.read(tmp_path / "missing.py")
    with pytest.raises(SourceError, match="cannot read"):
        Source.read(tmp_path)
    monkeypatch.setattr(Source, "max_bytes", 10)
    (tmp_path / "large.py").write_bytes(b"x" * 11)
    with pytest.raises(SourceError, match="too large"):
        Source.read(tmp_path / "large.py")


def test_display_name_and_place() -> None:
    source = Source.from_bytes(b"x", r"src\train.py", file=Path("src/train.py"))
    assert source.path == r"src\train.py"
    assert source.with_text("y").file == Path("src/train.py")
