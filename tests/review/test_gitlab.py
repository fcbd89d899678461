"""The bot end to end, against a GitLab on the loopback interface."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from lora_lint.cli import cli
from review.conftest import LOAD, MOVE, WRAP, Bot, Done
from review.fake_github import Repository
from review.fake_gitlab import serve


@pytest.fixture
def bot(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bot]:
    """Runs `lora-lint review` as a job of a merge request does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_EVENT_PATH", raising=False)
    with serve(repository) as address:
        given = {"GITLAB_CI": "true", "CI_PROJECT_ID": "g/p", "CI_MERGE_REQUEST_IID": "7", "CI_API_V4_URL": address, "GITLAB_TOKEN": "t"}

        def run(*arguments: str, **variables: str) -> Done:
            done = CliRunner().invoke(cli, ["review", *arguments], env={**given, **variables}, catch_exceptions=False)
            return Done(done.exit_code, done.stdout, done.stderr)

        yield run


def test_a_comment_with_a_suggestion(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {"train.py": LOAD + MOVE + WRAP, "a.py": LOAD + MOVE})
    assert bot().returncode == 1
    first, second = (thread["notes"][0] for thread in repository.comments)
    assert (first["position"]["new_path"], first["position"]["new_line"], "old_line" in first["position"]) == ("a.py", 7, False)
    assert f"```suggestion:-1+0\n{LOAD.splitlines()[-1]}\n```" in first["body"]
    # The last line of this suggestion is one that the diff only shows.
    assert (second["position"]["new_line"], second["position"]["old_line"]) == (8, 7)
    assert f"```suggestion:-1+0\n{WRAP}```" in second["body"]


def test_the_second_push(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {"a.py": LOAD + MOVE, "b.py": LOAD + MOVE, "c.py": LOAD + MOVE})
    bot()
    answered = repository.comments[1]
    answered["notes"].append({"id": 70, "body": "Why?", "author": {"id": 1}, "system": False})
    repository.commit("topic", {"a.py": LOAD, "b.py": LOAD, "d.py": LOAD + MOVE})
    bot()
    assert [thread["notes"][0]["position"]["new_path"] for thread in repository.comments] == ["b.py", "c.py", "d.py"]
    assert answered["notes"][0]["resolved"]
    assert answered["notes"][0]["body"].startswith("✅ Fixed in `")
    requests = len(repository.requests)
    bot()
    assert not [request for request in repository.requests[requests:] if not request.startswith("GET")]


def test_what_the_diff_does_not_show_goes_to_one_note(repository: Repository, bot: Bot) -> None:
    repository.hide_patches = True
    repository.commit("topic", {"a.py": LOAD + MOVE})
    bot()
    (note,) = repository.notes
    assert "a.py:7 **LL301**" in note["body"]
    repository.commit("topic", {"a.py": LOAD})
    bot()
    assert repository.notes == []


def test_without_the_right_to_comment(repository: Repository, bot: Bot) -> None:
    repository.read_only = True
    repository.commit("topic", {"a.py": LOAD + MOVE})
    done = bot()
    assert done.returncode == 1
    assert "403 Forbidden; the findings are printed instead" in done.stderr
    assert done.stdout.startswith("a.py:7:9: warning LL301")
    assert bot(GITLAB_TOKEN="").stderr.startswith("error: GITLAB_TOKEN is not set: ")
