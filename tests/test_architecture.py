"""The invariants of ARCHITECTURE.md, read from the sources."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lora_lint import _toml
from lora_lint.findings import Applicability, Edit, Finding, Fix, Position, Severity, Span
from lora_lint.target import LIBRARIES, releases
from lora_lint.versions import facts

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "lora_lint"
MODULES = sorted(PACKAGE.rglob("*.py"))
RULES = sorted((PACKAGE / "rules").glob("ll*.py"))
OUTSIDE = ("report", "cli", "verify", "review", "server")
UNDERSTOOD = ("torch", "transformers", "peft", "bitsandbytes", "accelerate", "trl", "datasets", "unsloth", "lightning", "diffusers", "deepspeed")
RUNS_CODE = (
    "subprocess",
    "multiprocessing",
    "socket",
    "ssl",
    "urllib.request",
    "http",
    "ftplib",
    "pickle",
    "marshal",
    "shelve",
    "runpy",
    "ctypes",
    "webbrowser",
)
NETWORK = ("urllib.request", "http")
PROCESSES = ("subprocess", "ctypes", "socket")
STEP = PACKAGE / "verify" / "step"
NO_IO = (*RUNS_CODE, "os", "io", "pathlib", "shutil", "tempfile", "glob", "logging", "sys", "builtins", "importlib")


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> set[str]:
    """The modules and names that a file imports, wherever in it, with full dotted names."""
    package = path.relative_to(ROOT).with_suffix("").parts
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            found.update({base, *(f"{base}.{alias.name}" for alias in node.names)})
    return found


def within(name: str, *modules: str) -> bool:
    return any(name == module or name.startswith(module + ".") for module in modules)


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The calls in a file, each with the last part of what is called."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id, node
            elif isinstance(node.func, ast.Attribute):
                yield node.func.attr, node


@pytest.mark.parametrize("folder", ["recipe", "libraries", "rules"])
def test_what_understands_knows_nothing_of_what_speaks(folder: str) -> None:
    forbidden = [f"lora_lint.{name}" for name in OUTSIDE]
    for path in sorted((PACKAGE / folder).glob("*.py")):
        assert not [name for name in imports(path) if within(name, *forbidden)], path.name


@pytest.mark.parametrize("folder", ["recipe", "libraries"])
def test_the_recipe_knows_nothing_of_rules_targets_and_fixes(folder: str) -> None:
    forbidden = [f"lora_lint.{name}" for name in ("rules", "rule", "target", "versions", "edits", "fix", "engine", "config", "suppressions")]
    for path in sorted((PACKAGE / folder).glob("*.py")):
        assert not [name for name in imports(path) if within(name, *forbidden)], path.name


@pytest.mark.parametrize("path", MODULES, ids=names(MODULES))
def test_nothing_imports_what_it_judges_nor_runs_code_nor_opens_the_network(path: Path) -> None:
    allowed: tuple[str, ...] = NETWORK if path == PACKAGE / "review" / "http.py" else ()
    if STEP in path.parents:
        return  # it is the script's own process
    if path.parent == PACKAGE / "verify":
        allowed = PROCESSES
    if path == PACKAGE / "processes.py":
        allowed = ("multiprocessing",)
    assert not [name for name in imports(path) if within(name, *UNDERSTOOD, *RUNS_CODE) and not within(name, *allowed)]
    loads = [name for name, node in calls(path) if name in ("exec", "eval", "__import__") and isinstance(node.func, ast.Name)]
    assert not loads


@pytest.mark.parametrize("path", RULES, ids=names(RULES))
def test_rules_do_no_io_and_ask_the_recipe_alone(path: Path) -> None:
    found = imports(path)
    assert not [name for name in found if within(name, *NO_IO)]
    assert not [name for name in found if within(name, "lora_lint.libraries", "lora_lint.recipe.interpreter", "lora_lint.engine")]
    assert not {"open", "print", "input", "read_text", "read_bytes", "write_text", "write_bytes"} & {name for name, _ in calls(path)}


def test_only_few_modules_write_files() -> None:
    writing = {"write_text", "write_bytes", "replace_file", "mkdir", "unlink", "rename", "remove", "rmdir", "makedirs", "symlink_to", "chmod"}
    found = set()
    for path in MODULES:
        if PACKAGE / "verify" in path.parents:  # in its scratch folder
            continue
        for name, node in calls(path):
            opens = name == "open" and any(isinstance(a, ast.Constant) and isinstance(a.value, str) and set(a.value) & set("wax+") for a in node.args)
            if name in writing - {"remove"} or opens:
                found.add(path.name)
    assert found <= {"fix.py", "check.py", "snapshot.py", "handover.py", "run.py", "cache.py"}


def test_only_report_knows_formats() -> None:
    formats = [f"lora_lint.report.{name}" for name in ("json", "github", "concise")]
    for path in MODULES:
        if path.parent.name != "report":
            assert not [name for name in imports(path) if within(name, *formats)], path.name


def loaded(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after some code, printed as its last line."""
    check = f"import sys\n{code}\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.splitlines()[-1].split())


def test_the_command_line_starts_without_a_parser() -> None:
    assert not loaded("import lora_lint.cli") & {"libcst", "rich", "pathspec", "packaging"}
    version = "from lora_lint.cli import cli\ncli.main(['--version'], standalone_mode=False)"
    assert not loaded(version) & {"libcst", "rich"}


def test_a_file_that_is_none_of_our_business_is_not_parsed(tmp_path: Path) -> None:
    file = tmp_path / "plain.py"
    file.write_text("import os\nprint(os.name)\n", encoding="utf-8")
    arguments = ["check", "--isolated", str(file)]
    run = f"from lora_lint.cli import cli\ntry:\n    cli.main({arguments!r}, standalone_mode=False)\nexcept SystemExit:\n    pass"
    assert "libcst" not in loaded(run)


def fact_uses() -> Iterator[tuple[str, str]]:
    """Each ``F("name")`` and ``error_text("name")`` of the package, with its file; a name that is no literal is yielded as an empty text."""
    for path in MODULES:
        for name, node in calls(path):
            if name in ("F", "error_text") and isinstance(node.func, ast.Name):
                argument = node.args[0] if node.args else None
                known = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                yield path.relative_to(ROOT).as_posix(), argument.value if known else ""  # type: ignore[union-attr]


def test_every_fact_is_used_by_a_rule_and_every_use_names_a_fact() -> None:
    used = list(fact_uses())
    assert not [(path, name) for path, name in used if name not in facts()]
    assert not set(facts()) - {name for path, name in used if path.startswith("lora_lint/rules/ll")}


def test_facts_are_well_formed() -> None:
    for library in LIBRARIES:
        path = PACKAGE / "facts" / f"{library}.toml"
        for name, row in (_toml.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}).items():
            assert set(row) <= {"holds", "with", "says", "message", "measured", "source"}, name
            assert set(row.get("with", {})) <= set(LIBRARIES) - {library}, name
            assert row["says"], name
            assert row["measured"], name
    known = [path.stem for path in (PACKAGE / "facts").glob("*.toml") if path.stem != "releases"]
    assert set(known) <= set(LIBRARIES)
    rows = [name for stem in known for name in _toml.loads((PACKAGE / "facts" / f"{stem}.toml").read_text(encoding="utf-8"))]
    assert len(rows) == len(set(rows)) == len(facts()), "a name is one library's"
    for fact in facts().values():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fact.name)
        for library in fact.ranges:
            assert any(fact.part(library, version) for version in releases(library)), f"{fact.name} is true on no supported release"


@pytest.mark.parametrize("path", [*RULES, *sorted((PACKAGE / "libraries").glob("*.py"))], ids=lambda path: path.stem)
def test_no_bound_is_written_beside_the_facts(path: Path) -> None:
    """A version number in a rule or a summary would be a fact that nobody measures."""
    module = tree(path)
    documented = [node for node in ast.walk(module) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))]
    documentation = {ast.get_docstring(node, clean=False) for node in documented}
    texts = [node.value for node in ast.walk(module) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert not [text for text in texts if text not in documentation and re.search(r"(?<![\d.])\d+\.\d+(\.\d+)?(?![\d.])", text)]


def test_a_fingerprint_has_no_line_number() -> None:
    def at(line: int) -> Finding:
        fix = Fix("cure", Applicability.SAFE, (Edit(line, line, "x"),))
        span = Span(Position(line, 1), Position(line, 2))
        return Finding("LL201", "kbit-training-not-prepared", Severity.ERROR, "it fails", "train.py", span, fix=fix, line_text="  model = f(model)")

    assert at(3).fingerprint == at(30).fingerprint


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_a_rule_imports_no_other_rule(path: Path) -> None:
    assert "lora_lint.rules.ll" not in path.read_text(encoding="utf-8")
