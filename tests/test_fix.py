"""Which fixes go together, the fixpoint, what is taken back, and atomic writing."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lora_lint.findings import Applicability, Edit, Finding, Fix, Severity, Span
from lora_lint.fix import apply, fix_text, write_atomically
from lora_lint.source import Source, SourceError


def fix(*edits: Edit, title: str = "t", applicability: Applicability = Applicability.SAFE) -> Fix:
    return Fix(title, applicability, edits)


def word_rule(
    word: str,
    text: str,
    code: str = "LL001",
    *,
    applicability: Applicability = Applicability.SAFE,
    severity: Severity = Severity.WARNING,
    head: str = "",
) -> Callable[[Source], list[Finding]]:
    """A rule that reports each ``word`` and would write ``text`` in its place, and ``head`` at the top of the file."""

    def check(source: Source) -> list[Finding]:
        found = []
        for match in re.finditer(rf"\b{word}\b".encode(), source.data):
            start, end = source.position(match.start()), source.position(match.end())
            edits = (Edit(0, 0, head), Edit(match.start(), match.end(), text)) if head else (Edit(match.start(), match.end(), text),)
            offer = Fix(f"{word} to {text}", applicability, edits)
            found.append(Finding(code, word, severity, word, source.path, Span(start, end), fix=offer, line_text=source.line(start.line)))
        return found

    return check


def both(*checks: Callable[[Source], list[Finding]]) -> Callable[[Source], list[Finding]]:
    return lambda source: [f for check in checks for f in check(source)]


def test_apply_in_file_order() -> None:
    late, early = fix(Edit(4, 5, "E")), fix(Edit(0, 1, "A"))
    assert apply(b"abcdef", [late, early]) == (b"AbcdEf", [early, late])


@pytest.mark.parametrize("second", [Edit(2, 4, "y"), Edit(3, 4, "y"), Edit(3, 3, "y"), Edit(1, 1, "y"), Edit(0, 1, "y"), Edit(1, 3, "y")])
def test_touching_fixes_wait(second: Edit) -> None:
    assert len(apply(b"abcdef", [fix(Edit(1, 3, "x")), fix(second)])[1]) == 1


def test_a_fix_is_applied_whole_or_not_at_all() -> None:
    first, second = fix(Edit(0, 1, "A")), fix(Edit(0, 1, "B"), Edit(4, 5, "E"))
    assert apply(b"abcdef", [first, second]) == (b"Abcdef", [first])


def test_the_same_import_is_made_once() -> None:
    one, two = fix(Edit(0, 0, "import m\n"), Edit(2, 3, "C")), fix(Edit(0, 0, "import m\n"), Edit(4, 5, "E"))
    assert apply(b"abcdef", [one, two]) == (b"import m\nabCdEf", [one, two])


def test_different_insertions_at_one_place_wait_for_each_other() -> None:
    one, two = fix(Edit(0, 0, "import m\n")), fix(Edit(0, 0, "import n\n"))
    assert apply(b"a", [one, two]) == (b"import m\na", [one])


@pytest.mark.parametrize("edits", [(), (Edit(0, 3, ""), Edit(2, 4, "")), (Edit(0, 7, ""),), (Edit(-1, 0, ""),), (Edit(3, 2, ""),)])
def test_impossible_fixes_are_not_applied(edits: tuple[Edit, ...]) -> None:
    assert apply(b"abcdef", [fix(*edits)]) == (b"abcdef", [])


def test_edits_are_bytes_of_utf8() -> None:
    assert apply("ä=ö".encode(), [fix(Edit(3, 5, "ü"))])[0] == "ä=ü".encode()


def test_fixpoint() -> None:
    result = fix_text("old = old + old\n", word_rule("old", "new"), unsafe=False)
    assert result.source_after.text == "new = new + new\n"
    assert (len(result.applied), result.remaining, result.rolled_back) == (3, [], [])


def test_touching_fixes_are_made_in_the_next_pass() -> None:
    result = fix_text("a;b\n", both(word_rule("a", "a1;"), word_rule("b", "b1", "LL002")), unsafe=False)
    assert result.rolled_back
    assert result.source_after.text == "a;b1\n"
    result = fix_text("a+b\n", both(word_rule("a", "c+"), word_rule("b", "d", "LL002")), unsafe=False)
    assert result.source_after.text == "c++d\n"


@pytest.mark.parametrize(("applicability", "unsafe", "fixed"), [
    (Applicability.SAFE, False, True), (Applicability.UNSAFE, False, False), (Applicability.UNSAFE, True, True), (Applicability.DISPLAY, True, False),
])  # fmt: skip
def test_only_what_was_asked_for(applicability: Applicability, unsafe: bool, fixed: bool) -> None:
    result = fix_text("old\n", word_rule("old", "new", applicability=applicability), unsafe=unsafe)
    assert (result.source_after.text == "new\n", len(result.applied), len(result.remaining)) == (fixed, fixed, not fixed)


def test_what_does_not_parse_is_taken_back_and_the_rest_is_done() -> None:
    result = fix_text("bad\nold\n", both(word_rule("bad", "(", "LL002"), word_rule("old", "new")), unsafe=False)
    assert result.source_after.text == "bad\nnew\n"
    assert [f.code for f in result.applied] == ["LL001"]
    assert [f.code for f in result.remaining] == ["LL002"]
    assert len(result.rolled_back) == 1
    assert "LL002 at <text>:1" in result.rolled_back[0]


def test_what_python_does_not_compile_is_taken_back() -> None:
    result = fix_text("from __future__ import annotations\nold\n", word_rule("old", "new", head="import m\n"), unsafe=False)
    assert not result.applied
    assert "compile" in result.rolled_back[0]


def test_a_fix_that_leads_to_another_finding_is_taken_back() -> None:
    check = both(word_rule("old", "worse"), word_rule("worse", "worse", "LL002"))
    result = fix_text("worse\nold\n", check, unsafe=False)
    assert result.source_after.text == "worse\nold\n"
    assert result.rolled_back == ["LL001 at <text>:2: fix taken back, it leads to LL002 in line 2"]


def test_a_fix_may_lead_to_a_note() -> None:
    check = both(word_rule("old", "meh"), word_rule("meh", "x", "LL002", severity=Severity.NOTE, applicability=Applicability.DISPLAY))
    assert fix_text("old\n", check, unsafe=False).source_after.text == "meh\n"


def test_a_fix_that_does_not_cure_is_taken_back() -> None:
    result = fix_text("old\n", word_rule("old", "old, old"), unsafe=False)
    assert result.source_after.text == "old\n"
    assert len(result.rolled_back) == 1


def test_moved_findings_are_not_new() -> None:
    check = both(word_rule("old", "new", head="import m\n\n\n"), word_rule("stays", "", "LL002", applicability=Applicability.DISPLAY))
    result = fix_text("old; stays\nstays\nold\n", check, unsafe=False)
    assert result.source_after.text == "import m\n\n\nnew; stays\nstays\nnew\n"
    assert len(result.remaining) == 2
    assert not result.rolled_back


def test_fixes_that_never_settle_stop() -> None:
    def grow(source: Source) -> list[Finding]:
        (finding,) = word_rule(r"x\d*", f"x{len(source.text)}", applicability=Applicability.SAFE)(source)
        return [
            Finding(
                f"LL{len(source.text)}",
                "x",
                Severity.NOTE,
                "",
                source.path,
                finding.span,
                fix=fix(Edit(0, len(source.data) - 1, "x" + "1" * len(source.text))),
            )
        ]

    result = fix_text("x\n", grow, unsafe=False)
    assert len(result.applied) == 10
    assert "do not settle" in result.rolled_back[0]


def test_encoding_bom_and_line_endings_are_kept() -> None:
    source = Source.from_bytes("# coding: latin-1\r\nold = 'ä'\r\n".encode("latin-1"), "t.py")
    after = fix_text(source, word_rule("old", "new"), unsafe=False).source_after
    assert after.encode(after.text) == "# coding: latin-1\r\nnew = 'ä'\r\n".encode("latin-1")
    source = Source.from_bytes(b"\xef\xbb\xbfold\n", "t.py")
    after = fix_text(source, word_rule("old", "new"), unsafe=False).source_after
    assert after.encode(after.text) == b"\xef\xbb\xbfnew\n"


def test_what_the_encoding_lacks_is_taken_back() -> None:
    source = Source.from_bytes(b"# coding: latin-1\nold\n", "t.py")
    result = fix_text(source, word_rule("old", "'\u20ac'"), unsafe=False)
    assert result.source_after is source
    assert len(result.rolled_back) == 1


def test_a_source_error_of_the_check_passes_through() -> None:
    def check(source: Source) -> list[Finding]:
        raise SourceError("no")

    with pytest.raises(SourceError):
        fix_text("a\n", check, unsafe=False)


def test_write_keeps_mode_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "t.py"
    path.write_bytes(b"old")
    path.chmod(0o755)
    mode = path.stat().st_mode
    write_atomically(path, b"new\r\n")
    assert (path.read_bytes(), path.stat().st_mode) == (b"new\r\n", mode)
    assert os.listdir(tmp_path) == ["t.py"]


def test_write_a_new_file(tmp_path: Path) -> None:
    write_atomically(str(tmp_path / "t.json"), b"{}")
    assert (tmp_path / "t.json").read_bytes() == b"{}"


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights on Windows")
def test_write_through_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "t.py", tmp_path / "link.py"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.py"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["t.py"]


def test_a_read_only_file_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.py"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
