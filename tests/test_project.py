from __future__ import annotations

import os
from pathlib import Path

import pytest

from lora_lint.project import Project, find_root
from lora_lint.source import Source


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    for name in (
        "pyproject.toml",
        "train.py",
        "utils.py",
        "pkg/__init__.py",
        "pkg/models.py",
        "pkg/sub/__init__.py",
        "pkg/sub/deep.py",
        "src/lib.py",
    ):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {name}\n", encoding="utf-8")
    (tmp_path / "outside.py").write_text("# outside\n", encoding="utf-8")
    return root


def found(root: Path, importer: str, dotted: str, level: int) -> str | None:
    source = Project(root).resolve(dotted, level, Source.read(root / importer))
    return source.text.strip("# \n") if source else None


@pytest.mark.parametrize(
    ("importer", "dotted", "level", "expected"),
    [
        ("train.py", "utils", 0, "utils.py"),
        ("train.py", "pkg", 0, "pkg/__init__.py"),
        ("train.py", "pkg.models", 0, "pkg/models.py"),
        ("train.py", "lib", 0, "src/lib.py"),
        ("train.py", "torch", 0, None),
        ("pkg/models.py", "utils", 0, "utils.py"),
        ("pkg/sub/deep.py", "models", 2, "pkg/models.py"),
        ("pkg/sub/deep.py", "", 2, "pkg/__init__.py"),
        ("pkg/models.py", "sub.deep", 1, "pkg/sub/deep.py"),
        ("train.py", "outside", 2, None),
        ("train.py", "x", 99, None),
    ],
)
def test_resolution(tree: Path, importer: str, dotted: str, level: int, expected: str | None) -> None:
    assert found(tree, importer, dotted, level) == expected


def test_modules_are_read_once_and_shown_like_their_importer(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    project = Project(tree)
    importer = Source.read("train.py")
    first = project.resolve("pkg.models", 0, importer)
    assert first is not None
    assert first.path == os.path.join("pkg", "models.py")
    assert project.resolve("pkg.models", 0, importer) is first
    assert project.resolve("utils", 0, Source.from_bytes(b"", "<stdin>")) is None


def test_links_out_of_the_project_are_not_followed(tree: Path) -> None:
    try:
        (tree / "linked.py").symlink_to(tree.parent / "outside.py")
    except OSError:
        pytest.skip("no symbolic links here")
    assert found(tree, "train.py", "linked", 0) is None


def test_root_is_the_nearest_marker(tree: Path, tmp_path: Path) -> None:
    assert find_root(tree / "pkg" / "models.py") == tree.resolve()
    (tree / "pkg" / "setup.py").touch()
    assert find_root(tree / "pkg" / "models.py") == (tree / "pkg").resolve()
