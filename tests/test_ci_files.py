"""The action and the CI files of docs/ are valid, use options that exist, and pass a security linter."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lora_lint.cli import cli

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / "docs" / "ci").glob("github-*.yml"))
ACTION = ROOT / "action.yml"
GITLAB = ROOT / "docs" / "ci" / "gitlab.yml"


@pytest.mark.parametrize("schema", ["github-workflows", "github-actions", "gitlab-ci"])
def test_they_are_valid(schema: str) -> None:
    files = {"github-workflows": WORKFLOWS, "github-actions": [ACTION], "gitlab-ci": [GITLAB]}[schema]
    assert files
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_security_linter_finds_nothing() -> None:
    zizmor = shutil.which("zizmor", path=str(Path(sys.executable).parent))
    assert zizmor, "it is in the extra dev"
    done = subprocess.run([zizmor, "--offline", "--no-progress", str(ACTION), *map(str, WORKFLOWS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_action_is_pinned_to_a_commit() -> None:
    for file in WORKFLOWS:
        for used in re.findall(r"uses: (\S+)", file.read_text(encoding="utf-8")):
            assert re.search(r"@[0-9a-f]{40}$", used), used


def test_they_use_inputs_and_options_that_exist() -> None:
    inputs = yaml.safe_load(ACTION.read_text(encoding="utf-8"))["inputs"]
    for file in WORKFLOWS:
        for job in yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values():
            for step in job["steps"]:
                if "/lora-lint@" in step["uses"]:
                    assert set(step.get("with", {})) <= set(inputs)
    options = {option for command in cli.commands.values() for parameter in command.params for option in parameter.opts}
    for file in (ACTION, GITLAB, *WORKFLOWS):
        for line in file.read_text(encoding="utf-8").splitlines():
            if "lora-lint check" in line or "lora-lint review" in line or '"$program"' in line or "arguments: --" in line:
                assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", line)) <= options, line


def test_the_action_imports_nothing_from_the_working_folder() -> None:
    """After a download of an artifact, or in a checkout, a ``venv.py`` there would run with the token of the workflow."""
    script = "\n".join(step["run"] for step in yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"])
    calls = re.findall(r'python3?"? (.*)', script)
    assert len(calls) == 2
    assert all(call.startswith("-I ") for call in calls)


def test_the_second_half_for_forks_follows_the_first_alone() -> None:
    files = {file.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in WORKFLOWS}
    followed = files["github-fork-post.yml"][True]["workflow_run"]["workflows"]  # YAML 1.1 reads the key `on` as true
    assert [name for name, file in files.items() if file["name"] in followed] == ["github-fork-lint.yml"]


def test_the_report_of_a_fork_is_unpacked_into_a_folder_of_its_own() -> None:
    download, post = yaml.safe_load((ROOT / "docs" / "ci" / "github-fork-post.yml").read_text(encoding="utf-8"))["jobs"]["post"]["steps"]
    assert post["with"]["arguments"].startswith(f"--post {download['with']['path']}/")


def test_the_action_runs(tmp_path: Path) -> None:
    """The script of its second step, with the installed program in the place of the one that its first step installs."""
    bash = shutil.which("bash")
    if not bash or sys.platform == "win32":
        pytest.skip("needs bash")
    (tmp_path / "lora-lint").mkdir()
    program = tmp_path / "lora-lint" / "run"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lora_lint "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    script = yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"][1]["run"]

    def run(mode: str, paths: str, arguments: str = "") -> subprocess.CompletedProcess[str]:
        given = {"RUNNER_TEMP": str(tmp_path), "MODE": mode, "PATHS": paths, "ARGUMENTS": arguments, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
        return subprocess.run([bash, "-e", "-c", script], cwd=ROOT, env=given, capture_output=True, text=True)

    done = run("check", "examples/dispatched_cuda.py examples/qlora_checkpointing.py", "--target transformers==4.44.2")
    assert (done.returncode, done.stdout.count("::error"), done.stdout.count("::warning")) == (1, 2, 1)
    done = run("check", "examples/dispatched_cuda.py\nexamples/qlora_checkpointing.py\n", "--target\ntransformers==4.44.2")
    assert (done.returncode, done.stdout.count("::error"), done.stdout.count("::warning")) == (1, 2, 1)
    assert run("check", "examples/dispatched_cuda.py; touch x", "--isolated").returncode == 2
    assert not (ROOT / "x").exists()
    done = run("other", ".")
    assert (done.returncode, done.stdout) == (2, "::error title=lora-lint::unknown mode: write check, review or sarif\n")
    assert run("review", ".").stderr.startswith("error: no pull request: ")
