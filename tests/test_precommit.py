"""The pre-commit hooks, tried as their users would: from a clone, in a repository of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "lora_lint", "rules")
NO_INDEX = (
    "No matching distribution",
    "Could not find a version",
    "Failed to establish a new connection",
    "Temporary failure",
    "Max retries exceeded",
)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with what a clone of this one has."""
    pytest.importorskip("pre_commit")
    if shutil.which("git") is None:
        pytest.skip("git is not here")
    folder = tmp_path_factory.mktemp("hooks")
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "as released")
    return folder


def test_the_hooks_install_and_run(hooks: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for name, text in (
        ("notes.txt", "x = (\n"),
        ("good.py", "import torch\n\nx = torch.ones(1)\n"),
        ("unused.py", "x = 1  # lora-lint: ignore[LL201]\n"),
        ("broken.py", "import torch\nx = (\n"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    git(tmp_path, "add", "-A")
    # Both hooks in one run: each run of try-repo installs anew.
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "--all-files", "--verbose"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=500)
    if any(word in done.stdout + done.stderr for word in NO_INDEX):
        pytest.skip("the package index is not here")

    assert done.returncode == 1, done.stdout + done.stderr
    first, second = done.stdout.split("hook id: lora-lint-fix")
    for output in (first, second):
        assert "exit code: 2" in output
        assert "broken.py:2:5: error LL900 syntax-error" in output
    assert "unused.py:1:8: warning LL901" in first
    assert "unused.py" not in second
    assert "good.py" not in done.stdout
    assert "notes.txt" not in done.stdout
    assert (tmp_path / "unused.py").read_text(encoding="utf-8") == "x = 1\n"
