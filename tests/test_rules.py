"""The folder rules/ is the specification of the rules: each page is complete, and each example is answered as it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lora_lint import _toml, codes
from lora_lint.config import Settings
from lora_lint.engine import check_source
from lora_lint.findings import Finding, Severity
from lora_lint.fix import fix_text
from lora_lint.rules import REGISTRY
from lora_lint.source import Source
from lora_lint.target import LIBRARIES, Target

ROOT = Path(__file__).resolve().parent.parent / "rules"
FOLDERS = sorted(path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
HEADINGS = ["What it does", "Why it matters", "Example", "Use instead", "Fix safety", "How --verify decides", "When not to use it", "References"]
KEYS: dict[str, type] = {
    "code": str,
    "name": str,
    "summary": str,
    "severity": str,
    "fix": str,
    "stage": str,
    "since": str,
    "libraries": list,
    "sources": list,
}
MARKER = re.compile(r"#((?:\s+LL\d{3})+)(\s+note)?\s*$")
HEADER = re.compile(r"^#[ \t]*(target|fix|today):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
INCLUDE = re.compile(r"^\{\{\s*(\S+)\s*\}\}$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """One program of a rule's folder, with what its comments say."""

    path: Path

    @property
    def code(self) -> str:
        return self.path.parent.parent.name.partition("-")[0]

    @property
    def text(self) -> str:
        return self.path.read_bytes().decode("utf-8")

    def header(self, key: str) -> str | None:
        """The text after ``# key:`` among the first ten lines, ``None`` when there is no such line."""
        head = "\n".join(self.text.splitlines()[:10])
        return next((value for name, value in HEADER.findall(head) if name == key), None)

    def marks(self, *, notes: bool = False) -> set[tuple[int, str]]:
        """The (line, code) pairs that the comments at the ends of lines ask for: those that a user sees by default, or the notes."""
        lines = enumerate(self.text.splitlines(), 1)
        found = [(number, mark) for number, line in lines if (mark := MARKER.search(line)) and bool(mark[2]) == notes]
        return {(number, code) for number, mark in found for code in mark[1].split()}

    def check(self, source: Source, severity: Severity = Severity.WARNING) -> list[Finding]:
        """What is reported of ``source`` on this example's target; by default what a user sees by default."""
        spec = self.header("target")
        target = Target.parse([(spec, "# target")]) if spec else Target.unknown()
        result = check_source(source, Settings(frozenset(codes.names()), target, severity))
        assert result.error is None, result.error
        return list(result.findings)

    @property
    def source(self) -> Source:
        return Source.from_bytes(self.path.read_bytes(), self.path.name)


def examples(kind: str) -> list[Any]:
    """The programs of all folders' ``kind``, without the fixed outputs, as test parameters."""
    paths = [path for folder in FOLDERS for path in sorted((folder / kind).glob("*.py")) if not path.name.endswith(".fixed.py")]
    return [pytest.param(Example(path), id=path.relative_to(ROOT).as_posix()) for path in paths]


def fixed() -> list[Any]:
    """The fixed outputs, as test parameters."""
    paths = [path for folder in FOLDERS for path in sorted((folder / "bad").glob("*.fixed.py"))]
    return [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in paths]


def page(folder: Path) -> tuple[dict[str, Any], str]:
    """The front matter and the body of a folder's rule.md."""
    text = (folder / "rule.md").read_text(encoding="utf-8")
    parts = re.split(r"^\+\+\+$\n?", text, maxsplit=2, flags=re.MULTILINE)
    assert len(parts) == 3, "front matter between two +++ lines"
    assert not parts[0], "front matter at the top"
    return _toml.loads(parts[1]), parts[2]


def pairs(findings: list[Finding]) -> set[tuple[int, str]]:
    return {(f.span.start.line, f.code) for f in findings}


@pytest.fixture(autouse=True)
def _internal_errors_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LORA_LINT_RAISE", "1")


@pytest.mark.parametrize("example", examples("bad"))
def test_bad_is_reported_on_the_marked_lines(example: Example) -> None:
    marks, notes = example.marks(), example.marks(notes=True)
    assert example.code in {code for _, code in marks | notes}, "no line is marked with the rule's own code"
    found = example.check(example.source, Severity.NOTE)
    assert pairs([f for f in found if f.severity >= Severity.WARNING]) == marks
    assert notes <= pairs([f for f in found if f.severity == Severity.NOTE])


@pytest.mark.parametrize("example", examples("good"))
def test_good_is_silent(example: Example) -> None:
    assert not example.marks() | example.marks(notes=True)
    assert pairs(example.check(example.source)) == set()


@pytest.mark.parametrize("example", examples("known"))
def test_known_wrong_answers_are_as_recorded(example: Example) -> None:
    today = example.header("today")
    assert today is not None, "a comment line '# today: CODES' says what is reported today"
    assert {f.code for f in example.check(example.source)} == set(today.split())


@pytest.mark.parametrize("path", fixed())
def test_fix_gives_the_fixed_file(path: Path) -> None:
    example = Example(path.with_name(path.name.replace(".fixed.py", ".py")))
    result = fix_text(example.source, example.check, unsafe=example.header("fix") == "unsafe")
    assert result.source_after.data.decode("utf-8") == path.read_bytes().decode("utf-8")
    assert result.rolled_back == []
    assert example.code in {f.code for f in result.applied}
    assert example.code not in {f.code for f in result.remaining if f.severity >= Severity.WARNING}


@pytest.mark.parametrize("path", fixed())
def test_fixed_file_is_settled(path: Path) -> None:
    """The fixed file, checked as a file of its own, is quiet for the rule, and fixing it again changes nothing."""
    example = Example(path)
    assert example.code not in {f.code for f in example.check(example.source)}
    again = fix_text(example.source, example.check, unsafe=example.header("fix") == "unsafe")
    assert again.source_after.data == example.source.data


@pytest.mark.parametrize("example", [*examples("bad"), *examples("good"), *examples("known")])
def test_example_is_a_program_with_a_reason(example: Example) -> None:
    compile(example.text, str(example.path), "exec")
    assert "\r" not in example.text
    assert example.text.endswith("\n")
    assert len(example.text.splitlines()) <= 60
    assert example.text.startswith('"""'), "the first line says what is wrong, or why it is fine"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_folder_has_enough_examples(folder: Path) -> None:
    for kind in ("bad", "good"):
        assert len([p for p in (folder / kind).glob("*.py") if not p.name.endswith(".fixed.py")]) >= 3, kind
    assert {p.name for p in folder.iterdir() if not p.name.startswith("__")} <= {"rule.md", "bad", "good", "known"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_front_matter(folder: Path) -> None:
    meta, _ = page(folder)
    corpus = meta.pop("corpus", None)
    assert {key: type(value) for key, value in meta.items()} == KEYS
    if corpus is not None:
        assert set(corpus) == {"findings", "right", "wrong", "date"}
        assert corpus["findings"] == corpus["right"] + corpus["wrong"]
        assert meta["stage"] == "P" or corpus["wrong"] * 50 <= max(corpus["findings"], 50), "more than one wrong in fifty: stage P"
    assert f"{meta['code']}-{meta['name']}" == folder.name
    assert meta["severity"] in ("error", "warning", "note")
    assert meta["fix"] in ("safe", "unsafe", "display")
    assert meta["stage"] in ("A", "B", "C", "P")
    assert re.fullmatch(r"\d+\.\d+\.\d+", meta["since"])
    assert meta["summary"]
    assert "\n" not in meta["summary"]
    assert not meta["summary"].endswith(".")
    assert meta["libraries"]
    assert set(meta["libraries"]) <= {*LIBRARIES, "unsloth", "lightning", "diffusers", "deepspeed"}
    assert meta["sources"]
    assert all(url.startswith("https://") for url in meta["sources"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_page(folder: Path) -> None:
    meta, body = page(folder)
    assert re.findall(r"^## (.+)$", body, re.MULTILINE) == HEADINGS
    sections = dict(zip(HEADINGS, re.split(r"^## .+$", body, flags=re.MULTILINE)[1:], strict=True))
    assert all(text.strip() for text in sections.values())
    example, instead = (INCLUDE.findall(sections[name]) for name in ("Example", "Use instead"))
    assert example
    assert instead
    assert all(name.startswith("bad/") for name in example)
    assert all(name.startswith("good/") or name.endswith(".fixed.py") for name in instead)
    for name in INCLUDE.findall(body):
        assert (folder / name).is_file(), name
    for url in meta["sources"]:
        assert url in sections["References"], url


def test_every_folder_has_a_module_and_every_module_a_folder() -> None:
    folders = {folder.name.partition("-")[0]: folder.name.partition("-")[2] for folder in FOLDERS}
    assert {code: info.name for code, info in REGISTRY.items()} == folders
    for code, info in REGISTRY.items():
        assert info.code == code
        assert info.module.rpartition(".")[2] == f"{code}_{info.name}".lower().replace("-", "_")
