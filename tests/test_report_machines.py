"""The formats for machines: what they say, and that they are what their readers take."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from lora_lint import __version__, config
from lora_lint.cli import cli
from lora_lint.engine import FileResult
from lora_lint.findings import Applicability, Edit, Finding, Fix, Position, Severity, Span, Step
from lora_lint.notebook import Notebook
from lora_lint.report import FORMATS, Report, additions, github, render
from lora_lint.report.entries import entries
from lora_lint.source import Source, SourceError

SCHEMAS = Path(__file__).resolve().parent / "data" / "schemas"
TEXT = 'import torch\n名前 = "😀"; bad(名前)\nbad(名前)\ntrain(\n  名前)\n'
CELL = {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["x = 1\n", "bad(x)"]}
BOOK = {"cells": [CELL], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder outside of any CI service."""
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "GITHUB_STEP_SUMMARY", "GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def span(line: int, first: int, last: int, end_line: int | None = None) -> Span:
    return Span(Position(line, first), Position(end_line or line, last))


def finding(path: str = "train.py", **changes: Any) -> Finding:
    at = len('import torch\n名前 = "😀"; '.encode())
    values: dict[str, Any] = {
        "code": "LL201",
        "name": "kbit-training-not-prepared",
        "severity": Severity.ERROR,
        "message": "The backward pass fails.",
        "path": path,
        "span": span(2, 11, 18),
        "failure": "RuntimeError: no grad",
        "versions": "on transformers 4.44.2.",
        "help": "prepare it",
        "flow": (Step(span(1, 8, 13), "loaded", path), Step(span(2, 11, 18), "trained", path)),
        "fix": Fix("prepare it", Applicability.SAFE, (Edit(at, at + 3, "good"),)),
        "line_text": '名前 = "😀"; bad(名前)',
    }
    return Finding(**{**values, **changes})


def report(*findings: Finding, text: str = TEXT, **more: Any) -> Report:
    path = findings[0].path if findings else "train.py"
    return Report([FileResult(path, Source.from_bytes(text.encode(), path), list(findings))], **more)


def mixed() -> Report:
    """A script, a notebook, a clean file, one that cannot be read, and one that does not parse."""
    book = Notebook.from_bytes(json.dumps(BOOK, indent=1).encode(), "nb.ipynb")
    at = book.offset(Position(3, 1))
    in_book = finding("nb.ipynb", span=span(3, 1, 7), flow=(), line_text="bad(x)", fix=Fix("t", Applicability.SAFE, (Edit(at, at + 3, "fit"),)))
    elsewhere = (Step(span(1, 8, 13), "s", "gone.py"),)
    odd = finding(severity=Severity.NOTE, message='<a> & "b" \x1b ]]> [x](1)', fix=None, failure=None, span=span(4, 1, 6, 5), flow=elsewhere)
    script = [finding(), finding(severity=Severity.WARNING, span=span(3, 1, 8)), odd]
    broken = Finding("LL900", "syntax-error", Severity.ERROR, "syntax error", "bröken.py", span(1, 1, 1))
    return Report(
        [
            FileResult("train.py", Source.from_bytes(TEXT.encode(), "train.py"), script),
            FileResult("nb.ipynb", book, [in_book]),
            FileResult("clean.py", Source.from_bytes(b"x = 1\n", "clean.py")),
            FileResult("gone.py", None, error=SourceError("cannot read: gone")),
            FileResult("bröken.py", None, [broken], error=SourceError("syntax error")),
        ]
    )


def schema(name: str) -> dict[str, Any]:
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


def strict(value: Any) -> Any:
    """A schema in which no object may have members that it does not name."""
    if isinstance(value, dict):
        closed = {key: strict(one) for key, one in value.items()}
        return {**closed, "additionalProperties": False} if isinstance(value.get("properties"), dict) else closed
    return [strict(one) for one in value] if isinstance(value, list) else value


def check(instance: Any, against: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft4Validator(against).validate(instance)


# --------------------------------------------------------------------------------------------------- all


def test_settings_and_the_command_line_take_the_formats_of_the_table() -> None:
    assert list(config.FORMATS) == list(FORMATS)
    (option,) = [one for one in cli.commands["check"].params if one.name == "output_format"]
    assert tuple(option.type.choices) == tuple(FORMATS)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_takes_everything_and_says_it_twice_alike(name: str) -> None:
    text = render(mixed(), name)
    assert text.endswith("\n")
    assert text == render(mixed(), name)
    assert render(Report([]), name).endswith("\n") or not render(Report([]), name)


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("full", "concise", "github")])
def test_formats_for_machines_are_ascii(name: str) -> None:
    assert render(mixed(), name).isascii()


# --------------------------------------------------------------------------------------------------- fingerprints


def prints(*findings: Finding, **more: Any) -> list[str]:
    return [entry.fingerprint for entry in entries(report(*findings, **more))]


def test_fingerprints_do_not_move_with_lines_and_blanks() -> None:
    moved = finding(span=span(9, 3, 4), line_text='  名前  = "😀";   bad( 名前 )\r')
    assert prints(finding()) == prints(moved)
    assert prints(finding()) != prints(finding(code="LL101"))
    assert prints(finding()) != prints(finding("other.py"))
    assert prints(finding()) != prints(finding(line_text="x"))


def test_fingerprints_of_findings_that_are_alike_differ_by_their_order_in_the_file() -> None:
    first, second = finding(span=span(3, 1, 2)), finding(span=span(4, 1, 2))
    assert len(set(prints(first, second))) == 2
    assert prints(second, first) == prints(first, second)[::-1]


def test_a_suppression_leaves_the_fingerprints_of_others_alone() -> None:
    first, second = finding(span=span(3, 1, 2)), finding(span=span(4, 1, 2))
    hidden = Report([FileResult("train.py", None, [second], [first])])
    assert [entry.fingerprint for entry in entries(hidden)] == prints(first, second)[1:]


def test_fingerprints_go_by_the_checkout_not_by_the_working_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "src").mkdir()
    above = prints(finding("src/train.py"))
    monkeypatch.setenv("CI_PROJECT_DIR", str(folder))
    monkeypatch.chdir(folder / "src")
    assert prints(finding("train.py")) == prints(finding(str(folder / "src" / "train.py"))) == above


# --------------------------------------------------------------------------------------------------- GitHub


def test_github_escapes_what_would_end_a_value(folder: Path) -> None:
    odd = finding(str(folder / "a,b:c.py"), failure=None, versions="100% of\nthem", help="", severity=Severity.NOTE)
    assert render(report(odd), "github") == (
        "::notice title=lora-lint (LL201),file=a%2Cb%3Ac.py,line=2,col=11,endLine=2,endColumn=17"
        "::a,b:c.py:2:11: LL201 kbit-training-not-prepared: The backward pass fails.%0A100%25 of%0Athem\n"
    )


def test_github_has_columns_within_one_line_only() -> None:
    assert "line=4,endLine=5::" in render(report(finding(span=span(4, 8, 2, end_line=5))), "github")
    assert "col=3,endLine=2,endColumn=3::" in render(report(finding(span=span(2, 3, 3))), "github")


def test_github_names_the_line_of_a_notebook_and_shows_the_cell() -> None:
    line = next(line for line in render(mixed(), "github").splitlines() if "nb.ipynb" in line)
    assert ",file=nb.ipynb,line=9,col=6,endLine=9,endColumn=11::nb.ipynb:cell 1:2:1: LL201" in line


def test_beyond_ten_annotations_of_a_kind_github_gets_a_note_and_lines() -> None:
    evil = finding(message="::error::x\n##[error]y")
    many = report(*[finding()] * 10, evil, evil, *[finding(severity=Severity.WARNING)] * 10, *[finding(severity=Severity.NOTE)] * 10)
    lines = render(many, "github").splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert [sum(line.startswith(f"::{kind} ") for line in commands) for kind in ("error", "warning", "notice")] == [10, 10, 10]
    assert commands[-1] == "::notice title=lora-lint::3 more findings than GitHub shows as annotations of one step: the log lists them"
    assert lines[30:32] == ["error train.py:2:11: LL201 kbit-training-not-prepared: ::error::x ## [error]y"] * 2
    assert lines[32].startswith("note train.py:2:11: ")
    assert len(lines) == 33


def test_ten_annotations_of_a_kind_need_no_note() -> None:
    assert len(render(report(*[finding()] * 10), "github").splitlines()) == 10


def test_github_gets_a_summary_where_it_asks_for_one() -> None:
    here = {"GITHUB_STEP_SUMMARY": "summary.md"}
    odd = finding(message="a | b\n<img src=x> `c`", failure=None, versions="", help="")
    ((file, text),) = additions(report(odd), "github", here)
    assert file == "summary.md"
    assert text.splitlines()[-1] == (
        "| 🔴 error | LL201 kbit-training-not-prepared | train.py:2:11 | a \\| b \\<img src=x\\> \\`c\\` |"
    )
    assert additions(report(odd), "github", {}) == []
    assert additions(report(odd), "sarif", here) == []
    assert additions(report(), "github", here) == []


def test_the_summary_links_to_the_line_and_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SERVER_URL", "https://github.com"), ("REPOSITORY", "o/r"), ("SHA", "abc")):
        monkeypatch.setenv(f"GITHUB_{name}", value)
    text = github.summary(report(*[finding("a b.py")] * 501))
    assert "| [a b.py:2:11](https://github.com/o/r/blob/abc/a%20b.py#L2) |" in text
    assert text.endswith("\n\n… and 1 more\n")
    assert len(text.encode()) < 2**20


@pytest.mark.usefixtures("fake_rules")
def test_the_command_line_appends_to_the_summary(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lint() -> Result:
        return CliRunner().invoke(cli, ["a.py", "--output-format", "github"])

    (folder / "a.py").write_text("x = bad\n", encoding="utf-8")
    (folder / "summary.md").write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    outcome = lint()
    assert outcome.exit_code == 1
    assert (folder / "summary.md").read_text(encoding="utf-8").startswith("before\n## lora-lint\n\n1 finding\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder))
    failing = lint()
    assert (failing.exit_code, failing.stdout) == (1, outcome.stdout)
    assert failing.stderr == f"warning: {folder}: cannot write: Is a directory\n"


# --------------------------------------------------------------------------------------------------- GitLab


def test_gitlab_has_the_documented_fields(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "src").mkdir()
    monkeypatch.setenv("CI_PROJECT_DIR", str(folder))
    monkeypatch.chdir(folder / "src")
    found = finding()
    (issue,) = json.loads(render(report(found), "gitlab"))
    assert issue == {
        "description": "LL201 kbit-training-not-prepared: The backward pass fails. RuntimeError: no grad on transformers 4.44.2. prepare it",
        "check_name": "LL201",
        "fingerprint": issue["fingerprint"],
        "severity": "critical",
        "location": {"path": "src/train.py", "positions": {"begin": {"line": 2, "column": 11}, "end": {"line": 2, "column": 18}}},
    }
    assert render(report(), "gitlab") == "[]\n"


def test_gitlab_takes_every_issue() -> None:
    issues = json.loads(render(mixed(), "gitlab"))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 5, "equal fingerprints are merged into one"
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert set(issue["location"]) == {"path", "positions"}, "positions or lines, not both"
        assert issue["location"]["positions"]["begin"]["line"] >= 1
        assert not issue["location"]["path"].startswith(("/", "./"))
        assert "\n" not in issue["description"]


# --------------------------------------------------------------------------------------------------- SARIF


def sarif(found: Report) -> dict[str, Any]:
    return json.loads(render(found, "sarif"))["runs"][0]


@pytest.mark.parametrize("found", [mixed(), Report([]), Report(mixed().files, unsafe=True, suppressed=True)], ids=["mixed", "empty", "suppressed"])
def test_sarif_is_valid(found: Report) -> None:
    check(json.loads(render(found, "sarif")), schema("sarif-schema-2.1.0.json"))


def test_the_multitool_finds_nothing_in_sarif(folder: Path) -> None:
    tool = shutil.which("Sarif.Multitool")
    if tool is None:
        pytest.skip("needs Sarif.Multitool (npm: @microsoft/sarif-multitool) on PATH")
    (folder / "out.sarif").write_text(render(mixed(), "sarif"), encoding="utf-8")
    command = [tool, "validate", "out.sarif", "--rule-kind", "Sarif;Ghas", "--level", "Error;Warning", "--kind", "Fail", "-o", "v.sarif"]
    subprocess.run(command, check=False, capture_output=True, timeout=120)
    results = json.loads((folder / "v.sarif").read_text(encoding="utf-8-sig"))["runs"][0].get("results", [])
    # SARIF2005 asks for the address of a home page, which there is none of.
    assert {result["ruleId"] for result in results} <= {"SARIF2005"}


def test_sarif_results() -> None:
    run = sarif(report(finding()))
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"]["driver"]["semanticVersion"] == __version__
    (result,) = run["results"]
    region = {"startLine": 2, "startColumn": 11, "endLine": 2, "endColumn": 18}
    place = {"artifactLocation": {"uri": "train.py", "uriBaseId": "%SRCROOT%"}, "region": region}
    assert result["locations"] == [{"physicalLocation": place}]
    assert result["level"] == "error"
    assert result["message"]["text"] == "The backward pass fails.\nRuntimeError: no grad\non transformers 4.44.2.\nprepare it"
    assert set(result["partialFingerprints"]) == {"loraLint/v1"}
    (flow,) = result["codeFlows"][0]["threadFlows"]
    assert [step["location"]["message"]["text"] for step in flow["locations"]] == ["loaded", "trained"]
    assert flow["locations"][-1]["location"]["physicalLocation"] == place
    assert [one["id"] for one in result["relatedLocations"]] == [1, 2]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {"deletedRegion": {"startLine": 2, "startColumn": 11, "endLine": 2, "endColumn": 14}, "insertedContent": {"text": "good"}}
    ]


def test_sarif_flows_end_where_the_finding_stands() -> None:
    (result,) = sarif(report(finding(flow=(Step(span(1, 8, 13), "loaded", "train.py"),))))["results"]
    assert [one["message"]["text"] for one in result["relatedLocations"]] == ["loaded", "The backward pass fails."]
    assert result["relatedLocations"][-1]["physicalLocation"] == result["locations"][0]["physicalLocation"]
    (plain,) = sarif(report(finding(flow=())))["results"]
    assert not {"codeFlows", "relatedLocations"} & set(plain)


def test_sarif_rules_carry_their_pages() -> None:
    (rule,) = sarif(report(finding(), finding()))["tool"]["driver"]["rules"]
    assert rule["id"] == "LL201"
    assert rule["name"] == "KbitTrainingNotPrepared"
    assert rule["help"]["markdown"].startswith("# LL201 kbit-training-not-prepared\n")
    assert "```python\n" in rule["help"]["markdown"]
    assert rule["defaultConfiguration"]["level"] == "error"
    assert len(rule["properties"]["tags"]) <= 10
    assert all(len(rule[key]["text"]) <= 1024 for key in ("shortDescription", "fullDescription"))


def test_sarif_indices_name_the_rule() -> None:
    run = sarif(report(finding(), finding(code="LL101", name="checkpointing-without-input-grads")))
    assert [run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] for one in run["results"]] == ["LL201", "LL101"]


def test_sarif_leaves_suppressed_findings_out_unless_asked_for() -> None:
    files = [FileResult("train.py", Source.from_bytes(TEXT.encode(), "train.py"), [finding()], [finding(span=span(3, 1, 8))])]
    assert len(sarif(Report(files))["results"]) == 1
    shown = sarif(Report(files, suppressed=True))["results"]
    assert [one["suppressions"] for one in shown] == [[], [{"kind": "inSource"}]]


def test_sarif_offers_unsafe_fixes_only_when_they_are_asked_for() -> None:
    assert finding().fix is not None
    for applicability, expected in ((Applicability.UNSAFE, [False, True]), (Applicability.DISPLAY, [False, False])):
        found = finding(fix=Fix("t", applicability, finding().fix.edits))  # type: ignore[union-attr]
        assert ["fixes" in sarif(report(found, unsafe=unsafe))["results"][0] for unsafe in (False, True)] == expected


def test_sarif_says_which_files_could_not_be_checked() -> None:
    (invocation,) = sarif(mixed())["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [one["message"]["text"] for one in invocation["toolExecutionNotifications"]] == ["gone.py: cannot read: gone", "bröken.py: syntax error"]
    assert sarif(report())["invocations"] == [{"executionSuccessful": True}]


def test_sarif_paths_are_uris_and_words_in_brackets_no_links(folder: Path) -> None:
    odd = finding("ü b#.py", message="see [x](1) and a[0]", failure=None, versions="", help="")
    (result,) = sarif(report(odd))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "%C3%BC%20b%23.py"
    assert result["message"]["text"] == "see \\[x](1) and a[0]"
    (outside,) = sarif(report(finding(str(folder.parent / "x.py"))))["results"]
    assert outside["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": (folder.parent / "x.py").as_uri()}


def test_sarif_fixes_of_a_notebook_are_those_of_its_file() -> None:
    result = next(one for one in sarif(mixed())["results"] if "nb.ipynb" in json.dumps(one["locations"]))
    assert result["locations"][0]["logicalLocations"] == [{"name": "cell 1", "kind": "module"}]
    (replacement,) = result["fixes"][0]["artifactChanges"][0]["replacements"]
    region = replacement["deletedRegion"]
    lines = json.dumps(BOOK, indent=1).split("\n")
    assert (region["startLine"], region["endLine"]) == (9, 9)
    line = lines[8]
    lines[8] = line[: region["startColumn"] - 1] + replacement["insertedContent"]["text"] + line[region["endColumn"] - 1 :]
    assert json.loads("\n".join(lines))["cells"][0]["source"] == ["x = 1\n", "fit(x)"]


# --------------------------------------------------------------------------------------------------- JUnit


def test_junit_is_read_by_junitparser(folder: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    (folder / "out.xml").write_text(render(mixed(), "junit"), encoding="utf-8")
    document = junitparser.JUnitXml.fromfile(str(folder / "out.xml"))
    assert (document.tests, document.failures, document.errors) == (7, 4, 1)
    assert [suite.name for suite in document] == ["train.py", "nb.ipynb", "clean.py", "gone.py", "bröken.py"]
    kinds = [[type(result).__name__ for case in suite for result in case.result] for suite in document]
    assert kinds == [["Failure", "Failure"], ["Failure"], [], ["Error"], ["Failure"]]


def test_junit_cases() -> None:
    top = ElementTree.fromstring(render(report(finding()), "junit"))
    (case,) = top.iter("testcase")
    assert case.get("name") == "LL201 kbit-training-not-prepared:2:11"
    assert (case.get("file"), case.get("line")) == ("train.py", "2")
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("type") == "error"
    assert failure.text is not None
    assert failure.text.startswith("train.py:2:11: error LL201 kbit-training-not-prepared\nThe backward pass fails.\nRuntimeError: no grad\n")


def test_junit_has_no_characters_that_xml_lacks() -> None:
    text = render(report(finding(message="a\x1b\x00\ufffe\ud800b")), "junit")
    failure = ElementTree.fromstring(text).find(".//failure")
    assert failure is not None
    assert failure.get("message") == "a" + "\N{REPLACEMENT CHARACTER}" * 4 + "b"


# --------------------------------------------------------------------------------------------------- reviewdog


def test_rdjson_is_valid_and_has_no_field_that_reviewdog_does_not_know() -> None:
    for found in (mixed(), Report([])):
        check(json.loads(render(found, "rdjson")), strict(schema("reviewdog-DiagnosticResult.json")))
        for line in render(found, "rdjsonl").splitlines():
            check(json.loads(line), strict(schema("reviewdog-Diagnostic.json")))


def test_rdjson_counts_bytes_and_suggests_whole_lines() -> None:
    (diagnostic,) = json.loads(render(report(finding(versions="", help="")), "rdjson"))["diagnostics"]
    line = TEXT.split("\n")[1].encode()
    place = diagnostic["location"]["range"]
    assert line[place["start"]["column"] - 1 : place["end"]["column"] - 1].decode() == "bad(名前)"
    assert diagnostic == {
        "message": "kbit-training-not-prepared: The backward pass fails.\nRuntimeError: no grad",
        "location": {"path": "train.py", "range": {"start": {"line": 2, "column": 18}, "end": {"line": 2, "column": 29}}},
        "severity": "ERROR",
        "code": {"value": "LL201"},
        "suggestions": [{"range": {"start": {"line": 2}, "end": {"line": 2}}, "text": '名前 = "😀"; good(名前)'}],
        "related_locations": diagnostic["related_locations"],
    }
    assert [one["message"] for one in diagnostic["related_locations"]] == ["loaded", "trained"]


def test_rdjson_suggests_nothing_that_is_half_a_fix() -> None:
    far = Fix("t", Applicability.SAFE, (Edit(0, 0, "import peft\n"), Edit(100, 101, "y")))
    (diagnostic,) = json.loads(render(report(finding(fix=far), text="x\n" * 60), "rdjson"))["diagnostics"]
    assert "suggestions" not in diagnostic


def test_rdjson_lines_are_the_diagnostics_of_rdjson() -> None:
    whole = json.loads(render(mixed(), "rdjson"))
    expected = [{**one, "source": whole["source"]} for one in whole["diagnostics"]]
    assert [json.loads(line) for line in render(mixed(), "rdjsonl").splitlines()] == expected
    assert render(report(), "rdjsonl") == ""


def test_paths_of_rdjson_are_relative_to_the_working_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "src").mkdir()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder))
    monkeypatch.chdir(folder / "src")
    (diagnostic,) = json.loads(render(report(finding()), "rdjson"))["diagnostics"]
    assert diagnostic["location"]["path"] == "train.py"
    assert re.search(r",file=src/train\.py,", render(report(finding(os.path.abspath("train.py"))), "github"))


# --------------------------------------------------------------------------------------------------- JSON and people, on a notebook


def test_json_of_a_notebook_has_the_line_of_the_file_and_the_cell() -> None:
    item = next(item for item in json.loads(render(mixed(), "json")) if item["filename"].endswith("nb.ipynb"))
    assert (item["location"], item["end_location"]) == ({"row": 9, "column": 6}, {"row": 9, "column": 12})
    assert (item["cell"], item["cell_location"]) == (1, {"row": 2, "column": 1})
    assert item["fix"]["edits"] == [{"content": "fit", "location": {"row": 9, "column": 6}, "end_location": {"row": 9, "column": 9}}]


def test_people_see_the_cells_of_a_notebook() -> None:
    cells = [{**CELL, "source": text} for text in ("!pip install x\nm = load()", "bad(m)", "train(m)")]
    book = Notebook.from_bytes(json.dumps({**BOOK, "cells": cells}).encode(), "nb.ipynb")
    first, last = book.offset(Position(4, 1)), book.offset(Position(7, 1))
    found = finding(
        "nb.ipynb",
        span=span(5, 1, 7),
        flow=(Step(span(3, 5, 11), "loaded", "nb.ipynb"), Step(span(5, 1, 7), "bad", "nb.ipynb"), Step(span(7, 1, 6), "trained", "nb.ipynb")),
        fix=Fix("t", Applicability.SAFE, (Edit(first, first, "prepare(m)\n"), Edit(last, last + 5, "fit"))),
        failure=None,
        versions="",
    )
    shown = Report([FileResult("nb.ipynb", book, [found])])
    assert render(shown, "concise").startswith("nb.ipynb:cell 2:1:1: error LL201 ")
    assert render(shown, "full").splitlines() == [
        "nb.ipynb:cell 2:1:1: error LL201 kbit-training-not-prepared [safe fix]",
        "  The backward pass fails.",
        "     --> nb.ipynb:cell 1",
        "    2 | m = load()",
        "      |     ------ 1 loaded",
        "     --> nb.ipynb:cell 3",
        "    1 | train(m)",
        "      | ----- 3 trained",
        "     --> nb.ipynb:cell 2",
        "    1 | bad(m)",
        "      | ^^^^^^ 2 bad",
        "  help: prepare it",
        "     --> nb.ipynb:cell 1",
        "    2 | m = load()",
        "    3 + prepare(m)",
        "     --> nb.ipynb:cell 3",
        "    1 - train(m)",
        "    1 + fit(m)",
        "",
    ]
