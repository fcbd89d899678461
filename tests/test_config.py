from __future__ import annotations

import re
from pathlib import Path

import pytest

from lora_lint import codes
from lora_lint.config import Config, ConfigError, Configs, Overrides, load, settings
from lora_lint.findings import Severity


def write(folder: Path, text: str, name: str = "lora-lint.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_every_key_is_read(tmp_path: Path) -> None:
    text = """
[tool.lora-lint]
select = ["LL2"]
ignore = ["kbit-flag-as-keyword"]
extend-select = ["LL101"]
exclude = ["old"]
extend-exclude = ["gen/*.py"]
force-exclude = true
target = { transformers = "4.44.2", peft = ">=0.10,<0.12" }
severity = "note"
fail-on = "error"
output-format = "concise"
fix = true
unsafe-fixes = true
[tool.lora-lint.per-file-ignores]
"tests/**" = ["LL1"]
"""
    config = load(write(tmp_path, text, "pyproject.toml"))
    assert config is not None
    assert config.root == tmp_path
    assert (config.severity, config.fail_on, config.output_format) == (Severity.NOTE, Severity.ERROR, "concise")
    assert config.fix
    assert config.unsafe_fixes
    assert config.force_exclude
    found = settings(config)
    assert "LL101" in found.codes
    assert "LL201" in found.codes
    assert not found.codes & {"LL203", "LL102"}
    assert found.target.origin("peft") == "pyproject.toml"
    assert [str(v) for v in found.target.versions("transformers")] == ["4.44.2"]
    assert "LL101" not in found.for_file(tmp_path / "tests" / "deep" / "a.py")
    assert "LL101" in found.for_file(tmp_path / "src" / "a.py")


def test_target_may_be_a_list(tmp_path: Path) -> None:
    config = load(write(tmp_path, 'target = ["transformers==4.44.2"]'))
    assert config is not None
    assert settings(config).target.origin("transformers") == "lora-lint.toml"


def test_the_nearest_file_with_our_section_wins_whole(tmp_path: Path) -> None:
    write(tmp_path, '[tool.lora-lint]\nselect = ["LL1"]\nseverity = "note"\n', "pyproject.toml")
    write(tmp_path / "a", "[tool.other]\nx = 1\n", "pyproject.toml")
    write(tmp_path / "a" / "b", 'select = ["LL2"]\n')
    configs = Configs(cwd=tmp_path)
    assert configs.of(tmp_path / "a").select == ("LL1",)
    inner = configs.of(tmp_path / "a" / "b" / "c")
    assert (inner.select, inner.severity) == (("LL2",), None)
    assert configs.of(tmp_path / "a" / "b" / "c") is inner


def test_dotted_file_before_plain_before_pyproject(tmp_path: Path) -> None:
    write(tmp_path, '[tool.lora-lint]\nselect = ["LL1"]\n', "pyproject.toml")
    write(tmp_path, 'select = ["LL2"]\n')
    assert Configs().of(tmp_path).select == ("LL2",)
    write(tmp_path, 'select = ["LL3"]\n', ".lora-lint.toml")
    assert Configs().of(tmp_path).select == ("LL3",)


def test_globs_are_relative_to_the_declaring_file(tmp_path: Path) -> None:
    config = load(write(tmp_path / "inner", 'extend-exclude = ["gen/*.py", "/top.py", "!build"]\n'))
    assert config is not None
    assert config.excludes(tmp_path / "inner" / "gen" / "a.py")
    assert not config.excludes(tmp_path / "gen" / "a.py")
    assert config.excludes(tmp_path / "inner" / "top.py")
    assert not config.excludes(tmp_path / "inner" / "sub" / "top.py")
    assert not config.excludes(tmp_path / "inner" / "build" / "a.py")
    assert config.excludes(tmp_path / "inner" / "sub" / ".venv", folder=True)


def test_forced_and_isolated(tmp_path: Path) -> None:
    write(tmp_path, 'select = ["LL1"]\n')
    other = write(tmp_path / "other", 'select = ["LL2"]\n', "mine.toml")
    assert Configs(forced=other).of(tmp_path).select == ("LL2",)
    assert Configs(isolated=True, cwd=tmp_path).of(tmp_path) == Config(tmp_path)
    with pytest.raises(ConfigError, match=r"no \[tool\.lora-lint\] section"):
        Configs(forced=write(tmp_path / "x", "[tool.a]\n", "pyproject.toml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('selct = ["LL1"]', "unknown key 'selct' in the lora-lint settings: did you mean 'select'?"),
        ("qqq = 1", "unknown key 'qqq' in the lora-lint settings: known keys are select, ignore"),
        ('select = ["LL299"]', "unknown rule 'LL299'; did you mean 'LL"),
        ('ignore = ["kbit-training-not-prepard"]', "unknown rule 'kbit-training-not-prepard'; did you mean 'kbit-training-not-prepared'?"),
        ('select = "LL1"', "select: a list of strings is expected, not 'LL1'"),
        ("fix = 1", "fix: true or false is expected, not 1"),
        ('severity = "loud"', "severity: one of note, warning, error is expected, not 'loud'"),
        ('output-format = "xml"', "output-format: one of full, concise, json, jsonl, github, gitlab, sarif, junit, rdjson, rdjsonl is expected"),
        ('target = ["transfomers==1"]', "unknown target library 'transfomers' (lora-lint.toml): did you mean 'transformers'?"),
        ("target = { peft = 1 }", "target: versions of peft are expected as a string, not 1"),
        ('per-file-ignores = ["a"]', "per-file-ignores: a table of globs is expected"),
        ('[per-file-ignores]\n"a" = ["LL299"]', "unknown rule 'LL299'"),
        ("select = [", "not valid TOML"),
    ],
)
def test_errors_name_the_file_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_broken_pyproject_without_our_section_is_not_our_business(tmp_path: Path) -> None:
    assert load(write(tmp_path, "[tool.other\n", "pyproject.toml")) is None
    with pytest.raises(ConfigError):
        load(write(tmp_path, "[tool.lora-lint\n", "pyproject.toml"))


def test_command_line_over_config(tmp_path: Path) -> None:
    config = Config(tmp_path, "pyproject.toml", select=("LL1",), ignore=("LL201",), target=("peft==0.4.0", "trl==0.7.1"))
    found = settings(config, Overrides(select=("LL2",), ignore=("LL202",), target=("peft==0.12.0",), severity=Severity.ERROR))
    assert "LL201" in found.codes
    assert not found.codes & {"LL101", "LL202"}
    assert (found.target.origin("peft"), found.target.origin("trl")) == ("--target", "pyproject.toml")
    assert found.severity is Severity.ERROR


def test_selectors() -> None:
    assert codes.select(["ALL"]) == frozenset(codes.names())
    assert codes.select(["LL"]) == codes.select(["all"])
    assert codes.select(["ll201", "KBIT-training-not-prepared"]) == {"LL201"}
    assert codes.select(["LL90"]) == {"LL900", "LL901", "LL902", "LL903"}
    with pytest.raises(ValueError, match=re.escape("unknown rule 'XX1'")):
        codes.select(["XX1"])
