"""The documents are true: commands print what README.md shows, and its tables name what the program has."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from lora_lint import __version__, _toml, codes, config
from lora_lint.cli import cli

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "rules/README.md", "tests/bench/README.md", "tests/matrix/README.md", "docs/ci.md"]
PAGES += ["docs/editors.md", "docs/pre-commit.md", "docs/verify.md"]
TEST_COMMAND = 'python3 -m venv .venv && .venv/bin/pip install -e ".[dev]" && .venv/bin/pytest'


def script(name: str) -> ModuleType:
    """A script of the folder scripts/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def first_cells(heading: str) -> list[str]:
    """The first cells of the first table under a heading of README.md, without the header."""
    text = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [row.split("|")[1].strip().strip("`") for row in rows[2:]]


def test_readme_is_what_its_commands_print() -> None:
    assert README.count("<!-- run: ") >= 8
    assert script("update_readme").render(README) == README, "python scripts/update_readme.py"


def test_the_first_command_prints_the_same_in_the_checkout() -> None:
    """Where pyproject.toml of this project, with its own pins, stands above the examples."""
    command = "lora-lint examples/qlora_checkpointing.py"
    assert f"$ {command}\n{script('update_readme').output(command, ROOT)}```" in README


def test_readme_test_command_is_the_one_that_runs_before_a_change() -> None:
    assert f"\n{TEST_COMMAND}\n" in README
    assert f"\n{TEST_COMMAND}\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_readme_has_every_setting_with_its_default() -> None:
    assert sorted(first_cells("Configuration")) == sorted(config._KEYS)
    example = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert example is not None
    read = config._parse(_toml.loads(example[1])["tool"]["lora-lint"], ROOT / "pyproject.toml")
    assert read.target == ("transformers>=4.44,<5", "peft==0.12.0")
    assert config._KEYS.keys() == {field.replace("_", "-") for field in config.Config.__dataclass_fields__} - {"root", "origin"}


def test_readme_has_every_format_rule_and_option() -> None:
    assert first_cells("Usage") == list(config.FORMATS)
    assert first_cells("Rules") == list(codes.names())
    assert set(first_cells("Exit status")) == {"0", "1", "2"}
    mentioned = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README))
    options = {option for command in cli.commands.values() for p in command.params for option in p.opts if option.startswith("--")}
    assert mentioned <= options | {"--help"}
    assert options <= mentioned, "an option without a word in README.md"


def test_readme_and_hooks_agree() -> None:
    hooks = re.findall(r"^- id: (\S+)", (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"), re.MULTILINE)
    assert hooks == ["lora-lint", "lora-lint-fix"]
    assert all(hook in README for hook in hooks)
    assert f"rev: v{__version__}" in README


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    file = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)\)", file.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (file.parent / target).exists(), target


def test_architecture_names_every_module_and_nothing_else() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:lora_lint|rules|scripts|tests|examples|\.ci)/[\w./*-]*)`", text))
    missing = {name for name in named if "*" not in name and not (ROOT / name).exists()}
    assert not missing
    modules = {f"lora_lint/{path.relative_to(ROOT / 'lora_lint').as_posix()}" for path in (ROOT / "lora_lint").rglob("*.py")}
    pattern = r"lora_lint/(rules/ll.*|verify/step/.*|libraries/(?!registry|python|torch|transformers).*|.*__init__)\.py"
    grouped = {m for m in modules if re.fullmatch(pattern, m)}
    assert modules - grouped <= named, "a module without a paragraph in ARCHITECTURE.md"
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert {Path(name).name for name in re.findall(r"test_\w+\.py", text)} <= tests


def test_changelog_begins_with_this_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] == __version__


def test_examples_are_programs() -> None:
    files = sorted((ROOT / "examples").glob("*.py"))
    assert files
    for file in files:
        compile(file.read_text(encoding="utf-8"), file.name, "exec")
        assert f"examples/{file.name}" in README
