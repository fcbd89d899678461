from __future__ import annotations

import os
from pathlib import Path

import pytest

from lora_lint.config import Configs
from lora_lint.discovery import discover


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(*names: str, text: str = "") -> None:
    for name in names:
        file = Path(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def shown(*paths: str, force: bool | None = None) -> list[str]:
    complaints: list[str] = []
    files = [file.display.replace(os.sep, "/") for file in discover(paths, Configs(), complaints.append, force_exclude=force)]
    return files + [f"! {line}" for line in complaints]


def test_python_files_below_a_folder_in_order_of_name() -> None:
    make("b.py", "a/z.py", "a/b/c.py", "a/readme.md", "c.pyi", "x.ipynb", ".hidden.py")
    assert shown(".") == [".hidden.py", "a/b/c.py", "a/z.py", "b.py", "x.ipynb"]
    assert shown("a") == ["a/b/c.py", "a/z.py"]


def test_each_file_once_and_named_files_whatever_they_are_called() -> None:
    make("a/z.py", "script")
    assert shown("a/z.py", "a", "script", "a/../a/z.py") == ["a/z.py", "script"]


def test_missing_files_are_told() -> None:
    make("a.py")
    assert shown("missing.py", "a.py") == ["a.py", "! missing.py: no such file or directory"]


def test_default_excludes() -> None:
    make("src/a.py", ".venv/lib/x.py", "node_modules/y.py", "build/z.py", "src/__pycache__/q.py", "v/site-packages/p.py")
    assert shown(".") == ["src/a.py"]


def test_excluded_things_that_are_named() -> None:
    make("build/z.py", "build/deep/build/q.py")
    assert shown("build/z.py") == ["build/z.py"]
    assert shown("build") == ["build/z.py"]
    assert shown("build/z.py", "build", force=True) == []


def test_config_excludes_and_its_force_exclude() -> None:
    make("lora-lint.toml", text='extend-exclude = ["gen"]\nforce-exclude = true\n')
    make("gen/a.py", "src/gen/b.py", "src/c.py")
    assert shown(".", "gen/a.py") == ["src/c.py"]
    assert shown("gen/a.py", force=False) == ["gen/a.py"]


def test_nested_gitignore() -> None:
    make(".git/HEAD")
    make(".git/info/exclude", text="private.py\n")
    make(".gitignore", text="*.gen.py\n/out/\n!keep.gen.py\n[\n")
    make("pkg/.gitignore", text="local.py\n!special.gen.py\n")
    make("a.gen.py", "keep.gen.py", "out/x.py", "pkg/out/y.py", "pkg/local.py", "local.py", "pkg/special.gen.py", "pkg/b.gen.py", "private.py")
    assert shown(".") == ["keep.gen.py", "local.py", "pkg/out/y.py", "pkg/special.gen.py"]
    assert shown("pkg") == ["pkg/out/y.py", "pkg/special.gen.py"]
    assert shown("out", "pkg/local.py") == ["out/x.py", "pkg/local.py"]


def test_gitignore_without_a_repository() -> None:
    make(".gitignore", text="b.py\n")
    make("a.py", "b.py")
    assert shown(".") == ["a.py"]


def test_link_loops_end(folder: Path) -> None:
    make("src/a.py")
    try:
        (folder / "src" / "loop").symlink_to(folder / "src", target_is_directory=True)
        (folder / "src" / "self.py").symlink_to(folder / "src" / "self.py")
        (folder / "src" / "linked.py").symlink_to(folder / "src" / "a.py")
    except OSError:
        pytest.skip("no symbolic links here")
    files = shown("src")
    assert files[:2] == ["src/a.py", "src/linked.py"]
    assert all("self.py" in line for line in files[2:])
    assert shown("src/self.py")[0].startswith("! src/self.py: ")


def test_an_unreadable_folder_is_told_and_the_others_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    make("a/x.py", "b/y.py")
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert shown(".") == ["b/y.py", "! a: cannot read: Permission denied"]


def test_each_folder_has_its_config() -> None:
    make("lora-lint.toml", text='select = ["LL1"]\n')
    make("inner/lora-lint.toml", text='select = ["LL2"]\n')
    make("a.py", "inner/b.py")
    found = {file.display.replace(os.sep, "/"): file.config.select for file in discover(["."], Configs(), print)}
    assert found == {"a.py": ("LL1",), "inner/b.py": ("LL2",)}
