from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from lora_lint.engine import FileResult
from lora_lint.findings import Applicability, Edit, Finding, Fix, Position, Severity, Span, Step
from lora_lint.report import Report, render, statistics
from lora_lint.report.full import summary
from lora_lint.report.terminal import fit, use_color
from lora_lint.source import Source
from lora_lint.versions import EVERYWHERE

TEXT = """\
import torch
model = load("base")
model = get_peft_model(model, config)
args = TrainingArguments(
    gradient_checkpointing=True,
)
train(model, args)
"""


def span(line: int, first: int, last: int, end_line: int | None = None) -> Span:
    return Span(Position(line, first), Position(end_line or line, last))


def finding(path: str = "train.py", **changes: object) -> Finding:
    source = Source.from_bytes(TEXT.encode(), path)
    at = source.offset(Position(4, 1))
    values: dict[str, object] = {
        "code": "LL101",
        "name": "checkpointing-without-input-grads",
        "severity": Severity.ERROR,
        "message": "The first backward pass stops.",
        "path": path,
        "span": span(5, 5, 32),
        "failure": "RuntimeError: element 0 of tensors does not require grad",
        "versions": "on transformers 4.44.2 (requirements.txt:3).",
        "flow": (
            Step(span(2, 9, 21), "the base is loaded", path),
            Step(span(3, 9, 38), "the base is frozen", path),
            Step(span(5, 5, 32), "checkpointing is turned on", path),
        ),
        "help": "make the embedding output require grad",
        "fix": Fix("enable input grads", Applicability.SAFE, (Edit(at, at, "model.enable_input_require_grads()\n"),)),
        "line_text": "    gradient_checkpointing=True,",
    }
    return Finding(**{**values, **changes})  # type: ignore[arg-type]


def report(*findings: Finding, text: str = TEXT, color: bool = False) -> Report:
    path = findings[0].path if findings else "train.py"
    return Report([FileResult(path, Source.from_bytes(text.encode(), path), list(findings))], color)


def test_full() -> None:
    assert (
        render(report(finding()), "full")
        == """\
train.py:5:5: error LL101 checkpointing-without-input-grads [safe fix]
  The first backward pass stops.
      RuntimeError: element 0 of tensors does not require grad
  on transformers 4.44.2 (requirements.txt:3).
    2 | model = load("base")
      |         ------------ 1 the base is loaded
    3 | model = get_peft_model(model, config)
      |         ----------------------------- 2 the base is frozen
    5 |     gradient_checkpointing=True,
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^ 3 checkpointing is turned on
  help: make the embedding output require grad
    3 | model = get_peft_model(model, config)
    4 + model.enable_input_require_grads()

"""
    )
    assert summary(report(finding())) == "Found 1 finding. 1 fixable with --fix."
    assert summary(report()) == "No findings in 1 file."


def test_full_without_flow_or_fix_and_with_a_span_over_lines() -> None:
    shown = render(report(finding(flow=(), fix=None, failure=None, versions="", help="", span=span(4, 8, 2, end_line=6))), "full")
    assert shown.splitlines() == [
        "train.py:4:8: error LL101 checkpointing-without-input-grads",
        "  The first backward pass stops.",
        "    4 | args = TrainingArguments(",
        "      |        ^^^^^^^^^^^^^^^^^^",
        "",
    ]


def test_the_diff_of_a_fix_shows_what_goes_and_what_comes() -> None:
    source = Source.from_bytes(TEXT.encode(), "train.py")
    first, second = source.offset(Position(2, 9)), source.offset(Position(7, 1))
    edits = (Edit(0, 0, "import peft\n"), Edit(first, first + 4, "open"), Edit(second, second + 19, ""))
    shown = render(report(finding(flow=(), fix=Fix("t", Applicability.UNSAFE, edits), help="")), "full")
    assert shown.splitlines()[0].endswith("[unsafe fix]")
    assert shown.splitlines()[-8:] == [
        "  help: t",
        "    1 + import peft",
        "    1 | import torch",
        '    2 - model = load("base")',
        '    3 + model = open("base")',
        "    6 | )",
        "    7 - train(model, args)",
        "",
    ]


def test_tabs_wide_characters_and_long_lines_keep_carets_below_their_text() -> None:
    text = "\tx = '微调'; bad()\n" + "y = [" + "1, " * 200 + "bad]\n"
    shown = render(report(finding(span=span(1, 12, 17), flow=(), fix=None), text=text), "full").splitlines()
    at = shown[4].index("bad")
    assert shown[5].index("^") == at + 2  # two characters take two cells each
    shown = render(report(finding(span=span(2, 606, 609), flow=(), fix=None), text=text), "full").splitlines()
    assert shown[5].index("^") == shown[4].index("bad")
    assert len(shown[4]) < 200


def test_control_characters_of_a_checked_file_do_not_reach_the_terminal() -> None:
    shown = render(report(finding(span=span(1, 1, 2), flow=(), fix=None), text="x = '\x1b[31m'\n"), "full")
    assert "\x1b" not in shown


def test_colour() -> None:
    shown = render(report(finding(), color=True), "full")
    assert "\x1b[1;31merror\x1b[0m" in shown
    assert "\x1b" not in render(report(finding(), color=False), "full")
    assert "\x1b[1;31merror\x1b[0m" in render(report(finding(), color=True), "concise")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("flag", "environment", "terminal", "expected"),
    [
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {}, False, False),
    ],
)
def test_flag_over_no_color_over_force_color_over_terminal(flag: str, environment: dict[str, str], terminal: bool, expected: bool) -> None:
    assert use_color(flag, Terminal() if terminal else io.StringIO(), environment) is expected


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-8", "é… → 微"), ("cp1252", "é… -> \\u5fae"), ("ascii", "\\xe9... -> \\u5fae"), (None, "é… → 微"), ("klingon", "\\xe9... -> \\u5fae")],
)
def test_characters_that_a_console_lacks_become_ascii(encoding: str | None, expected: str) -> None:
    assert fit("é… → 微", encoding) == expected


def test_concise() -> None:
    place = "train.py:5:5: error LL101 checkpointing-without-input-grads: The first backward pass stops."
    assert render(report(finding(versions="on transformers < 5.0.0")), "concise") == f"{place} (on transformers < 5.0.0) [safe fix]\n"
    assert render(report(finding(versions=EVERYWHERE)), "concise") == f"{place} [safe fix]\n"
    assert render(report(finding(fix=None, path=r"src\train.py")), "concise").startswith(r"src\train.py:5:5: error")


def test_json() -> None:
    (item,) = json.loads(render(report(finding()), "json"))
    assert item == {
        "code": "LL101",
        "name": "checkpointing-without-input-grads",
        "severity": "error",
        "message": "The first backward pass stops.",
        "filename": os.path.abspath("train.py"),
        "location": {"row": 5, "column": 5},
        "end_location": {"row": 5, "column": 32},
        "cell": None,
        "cell_location": None,
        "fix": {
            "applicability": "safe",
            "message": "enable input grads",
            "edits": [
                {"content": "model.enable_input_require_grads()\n", "location": {"row": 4, "column": 1}, "end_location": {"row": 4, "column": 1}}
            ],
        },
        "url": None,
        "fingerprint": item["fingerprint"],
        "failure": "RuntimeError: element 0 of tensors does not require grad",
        "versions": "on transformers 4.44.2 (requirements.txt:3).",
        "condition": "",
        "help": "make the embedding output require grad",
        "flow": item["flow"],
    }
    assert item["flow"][0] == {
        "filename": os.path.abspath("train.py"),
        "message": "the base is loaded",
        "location": {"row": 2, "column": 9},
        "end_location": {"row": 2, "column": 21},
        "cell": None,
        "cell_location": None,
    }
    assert render(report(), "json") == "[]\n"


def test_jsonl_is_json_one_finding_a_line() -> None:
    many = report(finding(), finding(code="LL201"))
    assert [json.loads(line) for line in render(many, "jsonl").splitlines()] == json.loads(render(many, "json"))
    assert render(report(), "jsonl") == ""


def test_statistics() -> None:
    other = finding(code="LL201", name="kbit-training-not-prepared", fix=None)
    many = report(finding(), other, other)
    assert statistics.render(many) == "2  LL201  kbit-training-not-prepared\n1  LL101  checkpointing-without-input-grads  (1 fixable)\n"
    assert json.loads(statistics.render(many, as_json=True))[0] == {
        "code": "LL201",
        "name": "kbit-training-not-prepared",
        "count": 2,
        "fixable": 0,
    }


def test_steps_in_other_files_come_first_under_their_name(tmp_path: Path) -> None:
    other = tmp_path / "utils.py"
    other.write_text("def load():\n    return base()\n", encoding="utf-8")
    flow = (Step(span(2, 12, 18), "the base is loaded", str(other)), Step(span(5, 5, 32), "checkpointing", "train.py"))
    lines = render(report(finding(flow=flow, fix=None)), "full").splitlines()
    assert lines[4:8] == [f"     --> {other}", "    2 |     return base()", "      |            ------ 1 the base is loaded", "     --> train.py"]
    gone = (Step(span(2, 12, 18), "the base is loaded", str(tmp_path / "gone.py")), flow[1])
    assert "1 the base is loaded" in render(report(finding(flow=gone, fix=None)), "full")
