from __future__ import annotations

import pytest

from lora_lint import codes
from lora_lint.findings import Applicability, Finding, Position, Severity, Span
from lora_lint.fix import apply
from lora_lint.source import Source
from lora_lint.suppressions import Outcome, Suppressions


def outcome(text: str, *places: tuple[str, int, int], enabled: frozenset[str] | None = None) -> Outcome:
    """Suppressions over findings given as code, first line and last line."""
    source = Source.from_bytes(text.encode(), "a.py")
    names = codes.names()
    findings = [Finding(code, names[code], Severity.ERROR, "m", "a.py", Span(Position(first, 1), Position(last, 3))) for code, first, last in places]
    return Suppressions(source).apply(findings, enabled if enabled is not None else frozenset(names))


def reported(text: str, *places: tuple[str, int, int]) -> list[str]:
    return [f"{finding.code}:{finding.span.start.line}" for finding in outcome(text, *places).kept]


def fixed(text: str, *places: tuple[str, int, int], unsafe: bool = False) -> str:
    fixes = [f.fix for f in outcome(text, *places).kept if f.fix and (unsafe or f.fix.applicability is Applicability.SAFE)]
    return apply(text.encode(), fixes)[0].decode()


@pytest.mark.parametrize(
    "comment",
    [
        "# lora-lint: ignore[LL201]",
        "# lora-lint: ignore[LL201] the base is tiny",
        "#lora-lint:ignore[ LL101 , kbit-training-not-prepared ]",
        "# LORA-LINT: ignore[ll201]",
        "# noqa",
        "# noqa: LL201",
        "#NOQA:LL201",
        "# noqa: E501, LL201",
        "# noqa: E501 LL201 since the base is tiny",
        "# noqa: kbit-training-not-prepared",
        "# type: ignore # noqa: LL201",
        "# noqa: F401 # lora-lint: ignore[LL201]",
        "# because  # lora-lint: ignore[LL201]",
    ],
)
def test_forms_that_silence(comment: str) -> None:
    assert "LL201:1" not in reported(f"x = f()  {comment}\n", ("LL201", 1, 1))


@pytest.mark.parametrize(
    "line",
    [
        "x = f()  # lora-lint: ignore[LL202]",
        "x = f()  # noqa: F401",
        "x = f()  # noqa: LL202",
        "x = f()  # no qa",
        "x = f()  # see lora-lint: ignore[LL201]",
        "x = '# lora-lint: ignore[LL201]'",
        "x = '''# noqa: LL201'''",
        "x = f()  # noqa: because of LL201",
    ],
)
def test_forms_that_do_not(line: str) -> None:
    assert "LL201:1" in reported(line + "\n", ("LL201", 1, 1))


def test_any_line_of_the_statement_counts_and_no_other() -> None:
    text = "model = f(\n    a,  # lora-lint: ignore[LL201]\n    # own line\n    b,\n)\ny = 1\n"
    assert reported(text, ("LL201", 1, 1)) == []
    assert reported(text, ("LL201", 4, 4)) == []
    assert reported(text, ("LL201", 6, 6)) == ["LL901:2", "LL201:6"]
    inside = "model = f(\n    a,\n    # lora-lint: ignore[LL201]\n    b,\n)\n"
    assert reported(inside, ("LL201", 1, 1)) == []


def test_the_body_of_a_compound_statement_is_not_its_header() -> None:
    text = "with f():\n    g()\n    h()  # lora-lint: ignore[LL103]\n"
    assert reported(text, ("LL103", 1, 1)) == ["LL103:1", "LL901:3"]
    assert reported(text, ("LL103", 1, 3)) == []


def test_a_comment_above_silences_nothing_and_says_so() -> None:
    found = outcome("# lora-lint: ignore[LL201]\nx = f()\n", ("LL201", 2, 2)).kept
    assert [f.code for f in found] == ["LL901", "LL201"]
    assert "not above it" in found[0].message


def test_file_level() -> None:
    text = "x = 1\n# lora-lint: ignore-file[LL201] notebook export\n"
    assert reported(text, ("LL201", 1, 1), ("LL202", 1, 1)) == ["LL202:1"]
    assert reported("x = 1\n# lora-lint: ignore-file\n", ("LL201", 1, 1), ("LL202", 1, 1)) == ["LL903:2"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = f()  # lora-lint: ignore[LL201] why\n", "x = f()\n"),
        ("x = f()  # lora-lint: ignore[LL201] # noqa: F401\n", "x = f()  # noqa: F401\n"),
        ("x = f()  # noqa: F401 # lora-lint: ignore[LL201]\n", "x = f()  # noqa: F401\n"),
        ("x = f()  # lora-lint: ignore[LL202, LL201]\n", "x = f()  # lora-lint: ignore[LL202]\n"),
        ("x = f()  # lora-lint: ignore[LL201, LL202] why\n", "x = f()  # lora-lint: ignore[LL202] why\n"),
        ("x = f()  # noqa: LL201,LL101,LL202\n", "x = f()  # noqa: LL202\n"),
        ("x = f()  # noqa: F401, LL201\n", "x = f()  # noqa: F401\n"),
        ("x = f()\n    # lora-lint: ignore-file[LL201]\ny = 1\n", "x = f()\ny = 1\n"),
        ("é = '微'  # lora-lint: ignore[LL201]\r\ny = 1\r\n", "é = '微'\r\ny = 1\r\n"),
        ("x = f()  # lora-lint: ignore[LL201]", "x = f()"),
    ],
)
def test_unused_ones_are_removed(before: str, after: str) -> None:
    assert fixed(before, ("LL202", 1, 1)) == after


def test_codes_that_were_not_looked_for_are_not_unused() -> None:
    text = "x = f()  # lora-lint: ignore[LL201]\n"
    assert outcome(text, enabled=frozenset({"LL202", "LL901"})).kept == []
    assert [f.code for f in outcome(text, enabled=frozenset({"LL201", "LL901"})).kept] == ["LL901"]
    assert outcome(text, enabled=frozenset({"LL201"})).kept == []


def test_unknown_codes() -> None:
    assert reported("x = f()  # lora-lint: ignore[LL299, kbit-training-not-prepard]\n") == ["LL902:1", "LL902:1"]
    assert reported("x = f()  # noqa: LL299\n") == ["LL902:1"]
    assert reported("x = f()  # noqa: XYZ123, pandas\n") == []
    assert (
        fixed("x = f()  # lora-lint: ignore[kbit-training-not-prepard]\n", unsafe=True)
        == "x = f()  # lora-lint: ignore[kbit-training-not-prepared]\n"
    )
    assert fixed("x = f()  # lora-lint: ignore[qwertz]\n", unsafe=True) == "x = f()\n"


@pytest.mark.parametrize("comment", ["lora-lint: disable=LL201", "lora-lint: ignore(LL201)", "lora-lint: ignore=LL201", "lora-lint: ignore[LL201"])
def test_malformed_ones_are_reported(comment: str) -> None:
    assert reported(f"x = f()  # {comment}\n", ("LL201", 1, 1)) == ["LL201:1", "LL902:1"]


def test_without_a_code_it_silences_and_the_fix_names_the_codes() -> None:
    text = "x = f()  # lora-lint: ignore the base is tiny\n"
    assert reported(text, ("LL201", 1, 1), ("LL202", 1, 1)) == ["LL903:1"]
    assert fixed(text, ("LL201", 1, 1), ("LL202", 1, 1)) == "x = f()  # lora-lint: ignore[LL201, LL202] the base is tiny\n"
    assert reported(text) == ["LL901:1"]
    assert fixed(text) == "x = f()\n"
    assert reported("x = f()  # noqa\n") == []


def test_findings_about_comments_can_be_silenced_by_name_only() -> None:
    assert reported("x = f()  # lora-lint: ignore[LL201, LL901]\n") == []
    assert reported("x = f()  # lora-lint: ignore  # noqa: LL903\n", ("LL201", 1, 1)) == []


def test_a_syntax_error_cannot_be_silenced() -> None:
    assert reported("x = (  # lora-lint: ignore[LL900]\n", ("LL900", 1, 1)) == ["LL900:1"]


def test_a_file_that_stops_tokenizing_keeps_what_came_before() -> None:
    assert reported("x = f()  # lora-lint: ignore[LL201]\ny = '''\n", ("LL201", 1, 1)) == []
