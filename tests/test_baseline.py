from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lora_lint.cli import cli

MOVED = """from transformers import AutoModelForCausalLM
first = AutoModelForCausalLM.from_pretrained("a", device_map="auto")
first = first.cuda()
"""
TWICE = MOVED + 'second = AutoModelForCausalLM.from_pretrained("b", device_map="auto")\nsecond.cuda()\n'
CLEAN = "from transformers import AutoModelForCausalLM\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", *arguments, "--output-format", "concise"])


def counts(file: str = "lora-lint-baseline.json") -> object:
    return json.loads(Path(file).read_text(encoding="utf-8"))["files"]


def test_what_is_counted_is_hidden_until_there_is_more(folder: Path) -> None:
    (folder / "jobs").mkdir()
    (folder / "jobs" / "a.py").write_text(MOVED, encoding="utf-8")
    assert lint(".").exit_code == 1
    assert lint(".", "--write-baseline").exit_code == 0
    assert counts() == {"jobs/a.py": {"LL301": 1}}
    assert lint(".", "--baseline", "lora-lint-baseline.json").exit_code == 0
    (folder / "jobs" / "a.py").write_text("\n\n# moved down\n" + MOVED, encoding="utf-8")
    assert lint("jobs/a.py", "--baseline", "lora-lint-baseline.json").exit_code == 0
    (folder / "jobs" / "a.py").write_text(TWICE, encoding="utf-8")
    more = lint(".", "--baseline", "lora-lint-baseline.json")
    assert more.exit_code == 1
    assert more.stdout.count("LL301") == 2


def test_what_is_gone_must_be_pruned(folder: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (folder / name).write_text(TWICE, encoding="utf-8")
    (folder / "lora-lint.toml").write_text('baseline = "known.json"\n', encoding="utf-8")
    assert lint(".", "--write-baseline").exit_code == 0
    (folder / "a.py").write_text(MOVED, encoding="utf-8")
    (folder / "b.py").write_text(CLEAN, encoding="utf-8")
    (folder / "c.py").unlink()
    stale = lint(".")
    assert stale.exit_code == 2
    lines = [line.partition("stale: ")[2] for line in stale.stderr.splitlines() if "stale" in line]
    assert [line.partition(";")[0] for line in lines] == ["a.py: LL301: 2 allowed, 1 found", "b.py: LL301: 2 allowed, 0 found", "c.py: no such file"]
    (folder / "c.py").write_text(CLEAN, encoding="utf-8")
    assert "c.py" not in lint("a.py").stderr, "a file that was not checked is not stale"
    (folder / "c.py").unlink()
    assert lint(".", "--prune-baseline").exit_code == 0
    assert counts("known.json") == {"a.py": {"LL301": 1}}
    assert lint(".").exit_code == 0


def test_writing_again_keeps_the_files_that_were_not_checked(folder: Path) -> None:
    (folder / "a.py").write_text(MOVED, encoding="utf-8")
    (folder / "b.py").write_text(TWICE, encoding="utf-8")
    lint(".", "--write-baseline")
    (folder / "a.py").write_text(TWICE, encoding="utf-8")
    lint("a.py", "--write-baseline")
    assert counts() == {"a.py": {"LL301": 2}, "b.py": {"LL301": 2}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot read: No such file or directory; --write-baseline makes it"),
        ("{", "not a baseline: no JSON"),
        ('{"version": 2, "files": {}}', "not a baseline of this version of lora-lint"),
        ('{"version": 1, "files": {"a.py": {"LL301": "x"}}}', "not a baseline of this version of lora-lint"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_one_line(folder: Path, text: str | None, message: str) -> None:
    (folder / "a.py").write_text(MOVED, encoding="utf-8")
    if text is not None:
        (folder / "known.json").write_text(text, encoding="utf-8")
    result = lint("a.py", "--baseline", "known.json")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0] == f"error: known.json: {message}"
    assert "LL301" in result.stdout


def test_a_syntax_error_does_not_wait(folder: Path) -> None:
    (folder / "a.py").write_text(MOVED + "(", encoding="utf-8")
    assert lint("a.py", "--write-baseline").exit_code == 2
    assert counts() == {}


IGNORED = """from transformers import AutoModelForCausalLM
first = AutoModelForCausalLM.from_pretrained("a", device_map="auto")
first = first.cuda()  # lora-lint: ignore[LL301] one GPU
"""


def test_comments_are_added(folder: Path) -> None:
    file = folder / "a.py"
    file.write_text(MOVED, encoding="utf-8")
    done = lint("a.py", "--add-ignore=one GPU")
    assert (done.exit_code, done.stdout) == (0, "")
    assert file.read_text(encoding="utf-8") == IGNORED
    assert "a.py: 1 finding silenced." in done.stderr
    assert lint("a.py").exit_code == 0
    file.write_text(MOVED.replace("first.cuda()", "first.cuda()  # lora-lint: ignore[LL999] why"), encoding="utf-8")
    assert lint("a.py", "--add-ignore").exit_code == 1
    assert file.read_text(encoding="utf-8").splitlines()[-1] == "first = first.cuda()  # lora-lint: ignore[LL999, LL301] why"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("first = first.cuda(\n    0,\n)", "first = first.cuda(  # lora-lint: ignore[LL301]\n    0,\n)"),
        ("first = \\\n    first.cuda()", "first = \\\n    first.cuda()  # lora-lint: ignore[LL301]"),
        ("first = (\n    first.cuda()\n)", "first = (\n    first.cuda()  # lora-lint: ignore[LL301]\n)"),
        ('first = first.cuda(); x = """\n"""   ', 'first = first.cuda(); x = """\n"""  # lora-lint: ignore[LL301]'),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_comment_stands_where_the_statement_can_take_it(folder: Path, statement: str, expected: str, ending: str) -> None:
    file = folder / "a.py"
    head = MOVED.rpartition("first = ")[0]
    file.write_bytes((head + statement + "\n").replace("\n", ending).encode())
    assert lint("a.py", "--add-ignore").exit_code == 0
    assert file.read_bytes() == (head + expected + "\n").replace("\n", ending).encode()


def test_what_is_hidden_is_in_sarif_on_request(folder: Path) -> None:
    (folder / "a.py").write_text(TWICE.replace("second.cuda()", "second.cuda()  # lora-lint: ignore[LL301] it fits"), encoding="utf-8")
    arguments = ["check", "a.py", "--output-format", "sarif"]
    plain = json.loads(CliRunner().invoke(cli, arguments).stdout)["runs"][0]["results"]
    marked = json.loads(CliRunner().invoke(cli, [*arguments, "--sarif-suppressed"]).stdout)["runs"][0]["results"]
    assert len(plain) == 1
    assert [result["suppressions"] for result in marked] == [[], [{"kind": "inSource"}]]
