from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import Program
from lora_lint import __version__, cli, engine, source

Invoke = Callable[..., "Outcome"]


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "LORA_LINT_RAISE", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def lint(folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Invoke:
    """Runs the program in this process, in ``tmp_path``."""

    def run(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["lora-lint", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as caught:
            cli.main()
        sys.stdout.flush()
        captured = capsysbinary.readouterr()
        return Outcome(int(caught.value.code or 0), captured.out.decode(), captured.err.decode())

    return run


def codes(outcome: Outcome) -> list[str]:
    return [item["code"] for item in json.loads(outcome.out)]


# ---------------------------------------------------------------- start-up and help
def test_version_imports_nothing_heavy(program: Program) -> None:
    code = (
        "import sys; from lora_lint.cli import main; sys.argv = ['lora-lint', '--version']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'libcst', 'rich', 'pathspec', 'packaging', 'lora_lint.recipe'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == [f"lora-lint {__version__}", "[]"]
    assert program("--version").stdout == f"lora-lint {__version__}\n"


def test_a_file_that_does_not_concern_us_needs_no_libcst(folder: Path) -> None:
    (folder / "a.py").write_text("import json\n", encoding="utf-8")
    code = (
        "import sys; from lora_lint.cli import main; sys.argv = ['lora-lint', 'a.py']\n"
        "try: main()\n"
        "except SystemExit as e: print(e.code, 'libcst' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 False\n"


def test_without_arguments_help_and_status_2(lint: Invoke) -> None:
    assert lint().status == 2
    outcome = lint("check", "--help")
    assert outcome.status == 0
    for option in (
        "--fix --unsafe-fixes --diff --select --ignore --extend-select --target --severity --fail-on --output-format --output-file --statistics "
        "--exit-zero --exit-non-zero-on-fix --isolated --config --stdin-filename --no-cache --force-exclude --color"
    ).split():
        assert option in outcome.out


# ---------------------------------------------------------------- status, streams, formats
@pytest.mark.usefixtures("fake_rules")
class TestChecking:
    def test_findings_on_standard_output_and_status_1(self, lint: Invoke, folder: Path) -> None:
        (folder / "a.py").write_text("x = bad\n", encoding="utf-8")
        (folder / "b.py").write_text("x = 1\n", encoding="utf-8")
        outcome = lint(".")
        assert outcome.status == 1
        assert outcome.out.startswith("a.py:1:5: error LL201 kbit-training-not-prepared [safe fix]\n  bad crashes\n      RuntimeError: no\n")
        assert outcome.err == "Found 1 finding. 1 fixable with --fix.\n"
        assert lint("check", ".") == outcome
        assert lint("b.py") == (0, "", "No findings in 1 file.\n")
        assert lint("check") == outcome

    def test_severity_and_fail_on(self, lint: Invoke, folder: Path) -> None:
        (folder / "a.py").write_text("x = meh\n", encoding="utf-8")
        assert lint("a.py").status == 0
        assert codes(lint("a.py", "--output-format", "json")) == []
        noted = lint("a.py", "--output-format", "json", "--severity", "note")
        assert (noted.status, codes(noted)) == (0, ["LL304"])
        failing = lint("a.py", "--output-format", "json", "--fail-on", "note")
        assert (failing.status, codes(failing)) == (1, ["LL304"])
        (folder / "a.py").write_text("x = bad\n", encoding="utf-8")
        assert lint("a.py", "--exit-zero").status == 0

    def test_selection(self, lint: Invoke, folder: Path) -> None:
        (folder / "a.py").write_text("x = bad\nx = meh\n", encoding="utf-8")

        def found(*options: str) -> list[str]:
            return codes(lint("a.py", "--output-format", "json", "--severity", "note", *options))

        assert found() == ["LL201", "LL304"]
        assert found("--select", "LL2,LL1") == ["LL201"]
        assert found("--ignore", "kbit-training-not-prepared") == ["LL304"]
        assert found("--select", "LL1", "--extend-select", "LL304") == ["LL304"]

    def test_unsuppressed_and_unused(self, lint: Invoke, folder: Path) -> None:
        (folder / "a.py").write_text("x = bad  # lora-lint: ignore[LL201]\ny = 1  # lora-lint: ignore[LL201]\n", encoding="utf-8")
        outcome = lint("a.py", "--output-format", "concise")
        assert outcome.out == "a.py:2:8: warning LL901 unused-suppression: unused suppression of LL201: nothing to silence here [safe fix]\n"
        assert lint("a.py", "--fix").status == 0
        assert (folder / "a.py").read_text(encoding="utf-8").endswith("\ny = 1\n")

    def test_output_file_and_statistics(self, lint: Invoke, folder: Path) -> None:
        (folder / "a.py").write_text("x = bad\ny = bad\n", encoding="utf-8")
        assert lint("a.py", "--output-format", "json", "--output-file", "out.json") == (1, "", "")
        assert len(json.loads((folder / "out.json").read_text(encoding="utf-8"))) == 2
        assert lint("a.py", "--statistics").out == "2  LL201  kbit-training-not-prepared  (2 fixable)\n"
        missing = lint("a.py", "--output-file", os.path.join("no", "out.txt"))
        assert missing.status == 2
        assert "cannot write" in missing.err

    def test_config_of_each_file(self, lint: Invoke, folder: Path) -> None:
        (folder / "pyproject.toml").write_text('[tool.lora-lint]\noutput-format = "concise"\nignore = ["LL201"]\n', encoding="utf-8")
        (folder / "a.py").write_text("x = bad\n", encoding="utf-8")
        (folder / "sub").mkdir()
        (folder / "sub" / "lora-lint.toml").write_text("", encoding="utf-8")
        (folder / "sub" / "b.py").write_text("x = bad\n", encoding="utf-8")
        assert [line.split()[0] for line in lint(".").out.splitlines()] == [f"sub{os.sep}b.py:1:5:"]
        assert len(lint(".", "--isolated", "--output-format", "concise").out.splitlines()) == 2
        assert lint(".", "--config", "pyproject.toml").out == ""

    def test_per_file_ignores(self, lint: Invoke, folder: Path) -> None:
        (folder / "lora-lint.toml").write_text('[per-file-ignores]\n"tests/*" = ["LL2"]\n', encoding="utf-8")
        (folder / "tests").mkdir()
        for name in ("a.py", "tests/b.py"):
            (folder / name).write_text("x = bad\n", encoding="utf-8")
        assert [item["filename"] for item in json.loads(lint(".", "--output-format", "json").out)] == [str(folder / "a.py")]

    # ---------------------------------------------------------------- fixes
    def test_fix_writes_and_reports_what_is_left(self, lint: Invoke, folder: Path) -> None:
        raw = b"\xef\xbb\xbfx = bad\r\ny = bad  # unsafe\r\n"
        (folder / "a.py").write_bytes(raw)
        assert lint("a.py").status == 1
        assert (folder / "a.py").read_bytes() == raw
        outcome = lint("a.py", "--fix", "--output-format", "concise")
        assert outcome.status == 1
        assert "[unsafe fix]" in outcome.out
        assert outcome.err.startswith("Fixed 1 finding.\n")
        assert (folder / "a.py").read_bytes() == b"\xef\xbb\xbfx = good\r\ny = bad  # unsafe\r\n"
        assert lint("a.py", "--fix", "--unsafe-fixes").status == 0
        assert (folder / "a.py").read_bytes() == b"\xef\xbb\xbfx = good\r\ny = good  # unsafe\r\n"

    def test_fix_status(self, lint: Invoke, folder: Path) -> None:
        (folder / "a.py").write_text("x = bad\n", encoding="utf-8")
        assert lint("a.py", "--fix", "--exit-non-zero-on-fix").status == 1
        assert lint("a.py", "--fix", "--exit-non-zero-on-fix").status == 0

    def test_diff_writes_nothing(self, lint: Invoke, folder: Path) -> None:
        (folder / "a.py").write_text("x = 1\ny = bad", encoding="utf-8")
        outcome = lint("a.py", "--diff")
        assert outcome.out.splitlines() == [
            "--- a.py",
            "+++ a.py",
            "@@ -1,2 +1,2 @@",
            " x = 1",
            "-y = bad",
            "\\ No newline at end of file",
            "+y = good",
            "\\ No newline at end of file",
        ]
        assert (outcome.status, outcome.err) == (1, "Would fix 1 finding.\n")
        assert (folder / "a.py").read_text(encoding="utf-8") == "x = 1\ny = bad"

    def test_a_file_that_cannot_be_written(self, lint: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from lora_lint import fix

        def refuse(path: object, raw: bytes, ready: object = None) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(fix, "write_atomically", refuse)
        (folder / "a.py").write_text("x = bad\n", encoding="utf-8")
        outcome = lint("a.py", "--fix")
        assert outcome.status == 2
        assert outcome.err.startswith("error: a.py: cannot write: Permission denied\n")

    # ---------------------------------------------------------------- standard input
    def test_standard_input(self, lint: Invoke, folder: Path) -> None:
        outcome = lint("-", "--output-format", "concise", stdin=b"x = bad\n")
        assert (outcome.status, outcome.out.split()[0]) == (1, "-:1:5:")
        named = lint("-", "--stdin-filename", "src/a.py", "--output-format", "json", stdin=b"x = bad\n")
        assert json.loads(named.out)[0]["filename"] == os.path.abspath("src/a.py")

    def test_standard_input_is_cured_to_standard_output(self, lint: Invoke) -> None:
        outcome = lint("-", "--fix", stdin=b"x = bad\r\ny = bad # unsafe\r\n")
        assert (outcome.status, outcome.out) == (1, "x = good\r\ny = bad # unsafe\r\n")
        assert "-:2:5: error LL201" in outcome.err
        assert lint("-", "--fix", stdin=b"x = 1").out == "x = 1"
        assert lint("-", "--fix", stdin=b"x = (").out == "x = ("

    # ---------------------------------------------------------------- trouble
    def test_a_broken_file_beside_a_good_one(self, lint: Invoke, folder: Path) -> None:
        (folder / "broken.py").write_text("x = (\n", encoding="utf-8")
        (folder / "good.py").write_text("x = bad\n", encoding="utf-8")
        outcome = lint(".", "--output-format", "concise")
        assert outcome.status == 2
        assert outcome.out.splitlines() == [
            "broken.py:1:5: error LL900 syntax-error: syntax error: '(' was never closed",
            "good.py:1:5: error LL201 kbit-training-not-prepared: bad crashes (on all versions) [safe fix]",
        ]
        assert codes(lint("broken.py", "--output-format", "json", "--select", "LL1", "--exit-zero")) == ["LL900"]

    @pytest.mark.parametrize(
        ("raw", "text"),
        [
            (b"x = '\xe9'\n", "1:6: error LL900 syntax-error: cannot decode as utf-8: invalid continuation byte"),
            (b"bad\0", "1:4: error LL900 syntax-error: contains null bytes: not a Python text file"),
            (b"x = 1" + b" + 1" * 5000, "1:1: error LL900 syntax-error: nested too deeply to be analysed"),
        ],
    )
    def test_files_that_are_no_python(self, lint: Invoke, folder: Path, raw: bytes, text: str) -> None:
        (folder / "a.py").write_bytes(raw)
        outcome = lint("a.py", "--output-format", "concise")
        assert outcome.status == 2
        assert outcome.out == f"a.py:{text}\n"

    def test_files_that_are_odd_but_good(self, lint: Invoke, folder: Path) -> None:
        for name, raw in (
            ("empty.py", b""),
            ("bom.py", b"\xef\xbb\xbfx = 1\n"),
            ("latin.py", b"# coding: latin-1\nx = '\xe9'\n"),
            ("crlf.py", b"x = 1\r\n"),
        ):
            (folder / name).write_bytes(raw)
        assert lint(".") == (0, "", "No findings in 4 files.\n")

    def test_missing_and_unreadable(self, lint: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "a.py").write_text("x = bad\n", encoding="utf-8")
        outcome = lint("missing.py", "a.py", "--output-format", "concise")
        assert outcome.status == 2
        assert outcome.out.startswith("a.py:1:5")
        assert outcome.err.startswith("error: missing.py: no such file or directory\n")

        def refuse(path: str, flags: int) -> int:
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr(source, "_opened", refuse)
        outcome = lint("a.py", "--output-format", "json", "--isolated")
        assert outcome == (2, "[]\n", "error: a.py: cannot read: Permission denied\n")

    def test_an_unreadable_folder(self, lint: Invoke, folder: Path) -> None:
        (folder / "good.py").write_text("x = bad\n", encoding="utf-8")
        shut = folder / "shut"
        shut.mkdir()
        shut.chmod(0)
        try:
            if os.access(shut, os.R_OK):
                pytest.skip("permissions do not bind this user")
            outcome = lint(".", "--output-format", "concise")
        finally:
            shut.chmod(0o700)
        assert outcome.status == 2
        assert "error: shut: cannot read: Permission denied\n" in outcome.err
        assert outcome.out.startswith("good.py:1:5")

    def test_nothing_to_check(self, lint: Invoke) -> None:
        assert lint(".") == (0, "", "warning: no Python files found under the given paths\nNo findings in 0 files.\n")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--select", "LL299"], "error: unknown rule 'LL299'; did you mean 'LL"),
            (
                ["--ignore", "kbit-training-not-prepard"],
                "error: unknown rule 'kbit-training-not-prepard'; did you mean 'kbit-training-not-prepared'?",
            ),
            (["--target", "transfomers==4.44.2"], "error: unknown target library 'transfomers' (--target): did you mean 'transformers'?"),
            (["--target", "transformers=>4"], "error: malformed requirement 'transformers=>4' (--target)"),
            (["--slect", "LL1"], "error: No such option"),
            (["--severity", "loud"], "error: Invalid value for '--severity'"),
            (["--output-format", "xml"], "error: Invalid value for '--output-format'"),
            (["--config", "missing.toml"], "error: missing.toml: cannot read: "),
        ],
    )
    def test_wrong_usage_is_one_line_and_status_2(self, lint: Invoke, folder: Path, arguments: list[str], message: str) -> None:
        (folder / "a.py").write_text("x = bad\n", encoding="utf-8")
        outcome = lint("a.py", *arguments)
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err.startswith(message)
        assert outcome.err.count("\n") == 1

    def test_a_broken_config(self, lint: Invoke, folder: Path) -> None:
        (folder / "lora-lint.toml").write_text("selct = []\n", encoding="utf-8")
        assert lint(".") == (
            2,
            "",
            f"error: {folder / 'lora-lint.toml'}: unknown key 'selct' in the lora-lint settings: did you mean 'select'?\n",
        )

    def test_targets_may_be_repeated_and_joined(self, lint: Invoke, folder: Path) -> None:
        (folder / "a.py").write_text("x = 1\n", encoding="utf-8")
        assert lint("a.py", "--target", "transformers==4.44.2 peft==0.12.0", "--target", "trl>=0.9,<0.10,torch==2.1.0").status == 0

    def test_colour(self, lint: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "a.py").write_text("x = bad\n", encoding="utf-8")
        assert "\x1b" not in lint("a.py").out
        assert "\x1b[1;31merror" in lint("a.py", "--color", "always").out
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert "\x1b[1;31merror" in lint("a.py").out
        assert "\x1b" not in lint("a.py", "--color", "never").out

    def test_a_console_with_cp1252(self, lint: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "a.py").write_text("bad = '微调 é'\n", encoding="utf-8")
        stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252", newline="\r\n")
        monkeypatch.setattr(sys, "stdout", stream)
        assert lint("a.py").status == 1
        stream.flush()
        text = stream.buffer.getvalue().decode("cp1252")  # type: ignore[attr-defined]
        assert "bad = '\\u5fae\\u8c03 é'\r\n" in text

    def test_an_error_in_a_rule_is_one_line_and_the_rest_is_checked(self, lint: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        analyse = engine.analyse

        def fail(source: engine.Source, *rest: object) -> object:
            if source.path == "a.py":
                raise KeyError("oops\nmore")
            return analyse(source, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(engine, "analyse", fail)
        for name in ("a.py", "b.py"):
            (folder / name).write_text("x = bad\n", encoding="utf-8")
        outcome = lint(".", "--output-format", "concise")
        assert outcome.status == 2
        assert outcome.out.startswith("b.py:1:5")
        assert "error: a.py: internal error, please report it: KeyError: " in outcome.err


# ---------------------------------------------------------------- the other commands
def test_explain_by_code_and_by_name(lint: Invoke) -> None:
    outcome = lint("explain", "LL201")
    assert outcome.status == 0
    assert outcome.out.startswith("# LL201 kbit-training-not-prepared\n")
    assert "## Why it matters" in outcome.out
    assert "{{" not in outcome.out
    assert lint("explain", "kbit-training-not-prepared") == outcome
    assert lint("explain", "ll901").out.startswith("# LL901 unused-suppression\n")
    assert lint("explain", "kbit-training-not-prepard") == (
        2,
        "",
        "error: unknown rule 'kbit-training-not-prepard'; did you mean 'kbit-training-not-prepared'?\n",
    )


def test_rules(lint: Invoke) -> None:
    lines = lint("rules").out.splitlines()
    assert any(line.startswith("LL201  kbit-training-not-prepared ") for line in lines)
    listed = json.loads(lint("rules", "--output-format", "json").out)
    assert [entry["code"] for entry in listed] == [line.split()[0] for line in lines]
    assert all({"code", "name", "summary", "severity", "fix", "explanation"} <= entry.keys() for entry in listed)


def test_recipe(lint: Invoke, folder: Path) -> None:
    script = "from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('gpt2')\n"
    (folder / "a.py").write_text(script, encoding="utf-8")
    assert lint("recipe", "a.py").out.strip()
    assert isinstance(json.loads(lint("recipe", "a.py", "--output-format", "json").out), dict)
    assert lint("recipe", "-", stdin=script.encode()).out.strip()
    (folder / "b.py").write_text("x = (\n", encoding="utf-8")
    assert lint("recipe", "b.py") == (2, "", "error: b.py:1:5: syntax error: '(' was never closed\n")
    assert lint("recipe", "missing.py").err == "error: missing.py: cannot read: No such file or directory\n"


def test_end_to_end(program: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\nx = (\n", encoding="utf-8")
    done = program("a.py", "--output-format", "json")
    assert done.returncode == 2
    assert json.loads(done.stdout)[0]["location"] == {"row": 2, "column": 5}


def test_a_broken_notebook_is_one_line(lint: Invoke, folder: Path) -> None:
    (folder / "train.ipynb").write_text('{"cells": 1}', encoding="utf-8")
    outcome = lint("train.ipynb")
    assert outcome.status == 2
    assert outcome.out.startswith("train.ipynb:1:1: error LL900 syntax-error\n  not a notebook: it has no cells\n")


def test_a_notebook_is_cured_in_place(lint: Invoke, folder: Path) -> None:
    lines = [
        "from peft import LoraConfig, get_peft_model\n",
        "from transformers import AutoModelForCausalLM\n",
        'model = AutoModelForCausalLM.from_pretrained("facebook/opt-350m", device_map="auto")\n',
        "model = model.cuda()\n",
        "print(model)",
    ]
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source} for source in (["!nvidia-smi"], lines)]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (folder / "train.ipynb").write_text(json.dumps(notebook, indent=1), encoding="utf-8")
    outcome = lint("train.ipynb", "--output-format", "concise")
    assert outcome.out.startswith("train.ipynb:cell 2:4:9: warning LL301 ")
    assert lint("train.ipynb", "--fix").status == 0
    cells[1]["source"] = [line for line in lines if "cuda" not in line]
    assert json.loads((folder / "train.ipynb").read_text(encoding="utf-8")) == notebook
