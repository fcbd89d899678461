"""The cache: what it keeps, and when it does not hold any more."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lora_lint import cache, engine
from lora_lint.check import Check
from lora_lint.cli import cli

FAULT = """import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("m", load_in_4bit=True)
"""
HELPER = """from transformers import AutoModelForCausalLM
def build():
    return AutoModelForCausalLM.from_pretrained("m", load_in_4bit=True)
"""
CALLER = "import torch\nfrom helper import build\nmodel = build()\n"

Run = Callable[..., list[str]]


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were really checked."""
    names: list[str] = []
    real = engine.check_file

    def spy(path: Path, display: str, *arguments: object, **named: object) -> engine.FileResult:
        names.append(display)
        return real(path, display, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "check_file", spy)
    return names


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a check in ``tmp_path``; gives back the lines of the report and of standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(cache.VARIABLE, raising=False)

    def call(*arguments: str) -> list[str]:
        with pytest.raises(SystemExit):
            cli.main(["check", "--output-format", "concise", *(arguments or (".",))], standalone_mode=False)
        captured = capsys.readouterr()
        return captured.out.splitlines() + captured.err.splitlines()

    return call


def write(path: Path, text: str, age: float = 60) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    past = time.time() - age
    os.utime(path, (past, past))
    os.utime(path.parent, (past, past))


def test_a_second_run_checks_nothing_and_says_the_same(tmp_path: Path, run: Run, checked: list[str]) -> None:
    write(tmp_path / "a.py", FAULT)
    write(tmp_path / "b.py", "import torch\n")
    first = run()
    assert any("LL203" in line for line in first)
    assert sorted(checked) == ["a.py", "b.py"]
    checked.clear()
    assert run() == first
    assert checked == []
    assert (tmp_path / ".lora_lint_cache" / ".gitignore").read_text().endswith("*\n")
    assert (tmp_path / ".lora_lint_cache" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert run("--no-cache", ".") == first
    assert sorted(checked) == ["a.py", "b.py"]


def test_contents_count_not_time_stamps(tmp_path: Path, run: Run, checked: list[str]) -> None:
    write(tmp_path / "a.py", FAULT)
    first = run()
    os.utime(tmp_path / "a.py", (time.time() - 30,) * 2)
    checked.clear()
    assert run() == first
    assert not checked
    write(tmp_path / "a.py", FAULT.replace("load_in_4bit", "load_in_8bit"), age=60)
    assert any("load_in_8bit" in line for line in run())


@pytest.mark.parametrize(
    "arguments", [("--select", "LL1"), ("--severity", "note"), ("--target", "transformers==4.44.2"), ("--ignore", "LL203")], ids=lambda a: a[0]
)
def test_settings_are_part_of_the_key(tmp_path: Path, run: Run, checked: list[str], arguments: tuple[str, ...]) -> None:
    write(tmp_path / "a.py", FAULT)
    run()
    checked.clear()
    fresh = run("--no-cache", *arguments, ".")
    checked.clear()
    assert run(*arguments, ".") == fresh
    assert checked == ["a.py"]


def test_a_module_that_changes_comes_or_goes(tmp_path: Path, run: Run, checked: list[str]) -> None:
    write(tmp_path / "caller.py", CALLER)
    write(tmp_path / "helper.py", HELPER)
    assert any("caller.py:3" in line for line in run("caller.py"))
    checked.clear()
    run("caller.py")
    assert not checked
    write(tmp_path / "helper.py", HELPER.replace(", load_in_4bit=True", ""), age=30)
    assert not any("LL203" in line for line in run("caller.py"))
    (tmp_path / "helper.py").unlink()
    os.utime(tmp_path, (time.time() - 20,) * 2)
    assert not any("LL203" in line for line in run("caller.py"))
    write(tmp_path / "helper.py", HELPER, age=10)
    assert any("LL203" in line for line in run("caller.py"))


def test_dependency_files_and_configuration(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "a.py", FAULT)
    assert any("LL203" in line for line in run("a.py"))
    write(tmp_path / "requirements.txt", "transformers==4.44.2\n", age=40)
    assert not any("LL203" in line for line in run("a.py"))
    write(tmp_path / "requirements.txt", "transformers==5.0.0\n", age=30)
    assert any("error LL203" in line for line in run("a.py"))
    write(tmp_path / "lora-lint.toml", 'ignore = ["LL203"]\n', age=20)
    assert not any("LL203" in line for line in run("a.py"))


def test_a_damaged_cache_is_dropped_with_a_note(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "a.py", FAULT)
    first = run()
    file = tmp_path / ".lora_lint_cache" / "results.json"
    good = file.read_bytes()
    for damaged in (good[: len(good) // 2], b"\xff\xfe", b"[]", b'{"tool": 1}', good.replace(b'"states":[[', b'"states":[[[],')):
        file.write_bytes(damaged)
        again = run()
        assert [line for line in again if "damaged" not in line] == first
        assert file.read_bytes() != damaged or b'"tool": 1' in damaged
        assert run() == first


def test_another_release_starts_anew(tmp_path: Path, run: Run, checked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.py", FAULT)
    run()
    monkeypatch.setattr(cache, "fingerprint", lambda: "other rules")
    checked.clear()
    run()
    assert checked == ["a.py"]


def test_where_it_lies_and_how_it_goes(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.py", FAULT)
    run("--cache-dir", "elsewhere", "a.py")
    assert (tmp_path / "elsewhere" / "results.json").is_file()
    monkeypatch.setenv("LORA_LINT_CACHE_DIR", str(tmp_path / "environment"))
    run("a.py")
    assert (tmp_path / "environment" / "results.json").is_file()
    assert not (tmp_path / ".lora_lint_cache").exists()
    cli.main(["clean"], standalone_mode=False)
    assert not (tmp_path / "environment").exists()
    cli.main(["clean", "--cache-dir", "elsewhere"], standalone_mode=False)
    assert not (tmp_path / "elsewhere").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "results.json").write_text("mine")
    with pytest.raises(Exception, match="not a cache"):
        cli.main(["clean", "--cache-dir", "mine"], standalone_mode=False)
    assert (tmp_path / "mine" / "results.json").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "a.py", FAULT)
    (tmp_path / "file").write_text("")
    assert any("LL203" in line for line in run("--cache-dir", "file/cache", "a.py"))


def test_runs_at_the_same_time_leave_a_whole_file(tmp_path: Path) -> None:
    for i in range(8):
        write(tmp_path / f"{i}.py", FAULT)

    def one(i: int) -> None:
        for _ in range(10):
            kept = cache.Cache(tmp_path / "c", lambda line: pytest.fail(line))
            kept.put(tmp_path / f"{i}.py", "s", engine.FileResult(f"{i}.py", None), [])
            kept.save()

    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert json.loads((tmp_path / "c" / "results.json").read_bytes())["entries"]
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == [".gitignore", "CACHEDIR.TAG", "results.json"]
    kept = cache.Cache(tmp_path / "c", pytest.fail)
    assert any(kept.get(tmp_path / f"{i}.py", f"{i}.py", "s") for i in range(8))


def test_it_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_ENTRIES", 5)
    kept = cache.Cache(tmp_path / "c", pytest.fail)
    for i in range(20):
        write(tmp_path / f"{i}.py", "x")
        kept.put(tmp_path / f"{i}.py", "s", engine.FileResult(f"{i}.py", None), [])
    kept.save()
    assert len(json.loads(kept.file.read_bytes())["entries"]) == 5


def test_a_file_that_changes_while_it_is_checked_is_not_kept(tmp_path: Path) -> None:
    kept = cache.Cache(tmp_path / "c", pytest.fail)
    (tmp_path / "a.py").write_text("x")
    kept.put(tmp_path / "a.py", "s", engine.FileResult("a.py", None), [])
    assert kept.get(tmp_path / "a.py", "a.py", "s") is None


def test_a_cache_is_never_written_for_changes(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "a.py", FAULT)
    run("--diff", "a.py")
    assert not (tmp_path / ".lora_lint_cache").exists()
    assert Check.__dataclass_fields__["no_cache"]
