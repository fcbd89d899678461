"""The bot end to end, against a GitHub on the loopback interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from review.conftest import LOAD, MOVE, WRAP, Bot
from review.fake_github import Repository

NAMED = "OWNER/NAME#NUMBER"


def bodies(rows: list[dict[str, Any]]) -> list[str]:
    return [row["body"] for row in rows]


def test_a_finding_on_an_added_line_becomes_a_comment_with_a_suggestion(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {"train.py": LOAD + MOVE + WRAP})
    done = bot()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"1 finding introduced by #7 at {repository.sha('topic')[:12]}.\n"
    (review,) = repository.reviews
    assert (review["event"], review["commit_id"]) == ("COMMENT", repository.sha("topic"))
    (comment,) = repository.comments
    assert (comment["path"], comment["start_line"], comment["line"], comment["side"]) == ("train.py", 7, 8, "RIGHT")
    assert comment["body"].startswith("🟡 **LL301** dispatched-model-moved")
    assert "```suggestion\n" + WRAP + "```" in comment["body"]
    assert comment["body"].splitlines()[-1].startswith("<!-- lora-lint:v1 fp=")
    assert repository.notes == []


def test_nothing_is_said_where_nothing_is_introduced(repository: Repository, bot: Bot) -> None:
    repository.commit("main", {"old.py": LOAD + MOVE})
    done = bot()
    assert (done.returncode, done.stdout) == (0, "")
    assert not [request for request in repository.requests if not request.startswith("GET")]


def test_what_the_target_branch_has_already_is_not_introduced(repository: Repository, bot: Bot) -> None:
    repository.commit("main", {"old.py": LOAD + MOVE})
    repository.commit("topic", {"old.py": "# a comment\n" + LOAD + MOVE}, "the same file, with other lines")
    assert bot().returncode == 1  # it is new since the merge base
    repository.comments.clear()
    repository.commit("topic", {"old.py": None})
    assert bot().returncode == 0


def test_an_old_finding_in_a_changed_or_renamed_file_is_not_introduced(repository: Repository, bot: Bot) -> None:
    repository.commit("main", {"old.py": LOAD + MOVE})
    repository.commit("-Btopic", {"README.md": "z\n"})
    repository.commit("topic", {"old.py": None, "src/new.py": "# a comment\n\n" + LOAD + "\n" + MOVE})
    assert bot().returncode == 0
    assert repository.comments == []


def test_the_second_push_writes_edits_and_deletes(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {"a.py": LOAD + MOVE, "b.py": LOAD + MOVE, "c.py": LOAD + MOVE})
    bot()
    assert [comment["path"] for comment in repository.comments] == ["a.py", "b.py", "c.py"]
    repository.reply(1, "Why?")
    kept = repository.comments[2]["id"]
    # a.py and b.py are fixed, c.py keeps its finding further down, d.py is new.
    repository.commit("topic", {"a.py": LOAD, "b.py": LOAD, "c.py": "import os\n" + LOAD + MOVE, "d.py": LOAD + MOVE})
    assert bot().returncode == 1
    own = [comment for comment in repository.comments if comment["user"]["type"] == "Bot"]
    assert [comment["path"] for comment in own] == ["b.py", "c.py", "d.py"]
    assert own[0]["body"].startswith("✅ Fixed in `")
    assert own[1]["id"] == kept
    assert "c.py:8" in own[1]["body"]
    assert "suggestion" in own[1]["body"]
    assert len(repository.reviews) == 2
    settled = own[0]["body"]
    requests = len(repository.requests)
    bot()
    assert not [request for request in repository.requests[requests:] if not request.startswith("GET")], "nothing is left to say"
    assert own[0]["body"] == settled


def test_a_comment_whose_lines_changed_is_written_anew_and_an_answered_one_loses_its_suggestion(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {"a.py": LOAD + MOVE + WRAP, "b.py": LOAD + MOVE + WRAP})
    bot()
    old = [comment["id"] for comment in repository.comments]
    repository.reply(1, "Why?")
    # The line below the finding was a part of the suggestion.
    changed = LOAD + MOVE + WRAP.replace("r=8", "r=4")
    repository.commit("topic", {"a.py": changed, "b.py": changed})
    bot()
    own = {comment["path"]: comment for comment in repository.comments if comment["user"]["type"] == "Bot"}
    assert own["b.py"]["id"] == old[1]
    assert "suggestion" not in own["b.py"]["body"]
    assert own["a.py"]["id"] != old[0]
    assert "r=4" in own["a.py"]["body"]


def test_a_mark_that_somebody_copied_is_not_ours(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {"a.py": LOAD + MOVE})
    bot()
    copied = {**repository.comments[0], "id": 77, "user": {"login": "mallory", "type": "User"}}
    repository.comments[:] = [copied]
    repository.commit("topic", {"a.py": LOAD})
    bot()
    assert repository.comments == [copied]


def test_a_finding_on_an_unchanged_line_stands_where_it_was_caused(repository: Repository, bot: Bot) -> None:
    plain = LOAD.replace(', device_map="auto"', "")
    repository.commit("main", {"train.py": plain + "\n" * 20 + MOVE})
    repository.commit("-Btopic", {"train.py": LOAD + "\n" * 20 + MOVE})
    assert bot().returncode == 1
    (comment,) = repository.comments
    assert (comment["line"], "start_line" in comment) == (6, False)
    assert "LL301" in comment["body"]
    assert "at train.py:27" in comment["body"]
    assert "suggestion" not in comment["body"]


def test_a_finding_in_an_unchanged_file_stands_where_its_helper_changed(repository: Repository, bot: Bot) -> None:
    helper = "from transformers import AutoModelForCausalLM\n\n\ndef load():\n    return AutoModelForCausalLM.from_pretrained('a'{})\n"
    use = "from helper import load\nfrom peft import PeftModel\nmodel = load()\nmodel = model.cuda()\n"
    repository.commit("main", {"helper.py": helper.format(""), "train.py": use})
    repository.commit("-Btopic", {"helper.py": helper.format(", device_map='auto'")})
    assert bot().returncode == 1
    (comment,) = repository.comments
    assert (comment["path"], comment["line"]) == ("helper.py", 5)
    assert "at train.py:4" in comment["body"]


def test_findings_beyond_the_limit_and_outside_the_diff_go_to_one_summary(repository: Repository, bot: Bot) -> None:
    repository.hide_patches = True
    repository.commit("topic", {"a.py": LOAD + MOVE})
    bot()
    (note,) = repository.notes
    assert "a.py:7 **LL301**" in note["body"]
    assert repository.reviews == []
    repository.hide_patches = False
    repository.commit("topic", {"b.py": LOAD + MOVE})
    bot("--max-comments", "1")
    (note,) = repository.notes
    assert [comment["path"] for comment in repository.comments] == ["a.py"]
    assert "b.py:7" in note["body"]
    assert "a.py" not in note["body"]
    bot()
    assert repository.notes == []
    assert [comment["path"] for comment in repository.comments] == ["a.py", "b.py"]


def test_a_rule_that_is_met_often_gets_one_comment(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {f"f{number}.py": LOAD + MOVE for number in range(6)})
    bot()
    (comment,) = repository.comments
    assert "The same in 5 more places: f1.py:7, f2.py:7" in comment["body"]
    requests = len(repository.requests)
    bot()
    assert not [request for request in repository.requests[requests:] if not request.startswith("GET")]
    repository.commit("topic", {"f0.py": LOAD})
    bot()
    assert [row["path"] for row in repository.comments] == ["f1.py", "f2.py", "f3.py", "f4.py", "f5.py"]


def test_a_read_only_token_leads_to_annotations(repository: Repository, bot: Bot, tmp_path: Path) -> None:
    repository.read_only = True
    repository.commit("topic", {"a.py": LOAD + MOVE})
    summary = tmp_path / "summary.md"
    done = bot(GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 1
    assert "LL301" in summary.read_text(encoding="utf-8")
    assert done.stdout.startswith("::warning title=lora-lint (LL301),file=a.py,line=7,")
    assert "Resource not accessible by integration; the findings are annotations instead" in done.stderr
    assert repository.comments == []


def test_two_workflows_and_a_hostile_report(repository: Repository, bot: Bot, tmp_path: Path) -> None:
    repository.read_only = True
    repository.commit("topic", {"a.py": LOAD + MOVE})
    report = tmp_path / "report.json"
    assert bot("--write", str(report), "--exit-zero").returncode == 0
    assert repository.comments == []
    repository.read_only = False
    event = tmp_path / "run.json"
    event.write_text(json.dumps({"repository": {"full_name": "o/r"}, "workflow_run": {"head_sha": repository.sha("topic"), "pull_requests": []}}))
    assert bot("--post", str(report), GITHUB_EVENT_PATH=str(event)).returncode == 0
    (comment,) = repository.comments
    assert (comment["path"], comment["line"]) == ("a.py", 7)
    assert "A model that device" in comment["body"]
    assert "suggestion" not in comment["body"]

    written = json.loads(report.read_text(encoding="utf-8"))
    good = {**written["findings"][0], "fingerprint": "0" * 32}
    bad = [
        {**good, "code": "LL999"},
        {**good, "path": "../../etc/passwd"},
        {**good, "line": 70, "end_line": 70},
        {**good, "line": "7"},
        {**good, "fingerprint": "0 --> @everyone"},
        {**good, "severity": "fatal"},
        {**good, "message": "<script>"},
        "x",
    ]
    report.write_text(json.dumps({**written, "findings": bad}), encoding="utf-8")
    repository.comments.clear()
    assert bot("--post", str(report), GITHUB_EVENT_PATH=str(event)).returncode == 0
    (comment,) = repository.comments
    assert "script" not in comment["body"]
    for text in ("[]", "{", "[" * 100_000, json.dumps({**written, "head": "0" * 40})):
        report.write_text(text, encoding="utf-8")
        done = bot("--post", str(report), GITHUB_EVENT_PATH=str(event))
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert len(done.stderr.splitlines()) == 1


def test_limits_are_waited_for(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {"a.py": LOAD + MOVE})
    repository.limited = [(429, {"Retry-After": "0"}), (403, {"Retry-After": "1"}), (502, {})]
    assert bot().returncode == 1
    assert len(repository.comments) == 1
    repository.limited = [(429, {"Retry-After": "4000"})]
    done = bot()
    assert done.returncode == 2
    assert done.stderr == "error: GET /repos/o/r/pulls/7: 429 (rate limit); not waiting another 4000 s\n"


def test_a_push_during_the_review_ends_it(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {"a.py": LOAD + MOVE})
    repository.before_review = lambda: repository.commit("topic", {"README.md": f"{len(repository.requests)}\n"})
    done = bot()
    assert (done.returncode, repository.comments) == (0, [])
    assert "the pull request has got new commits meanwhile" in done.stderr


def test_the_configuration_is_that_of_the_base(repository: Repository, bot: Bot) -> None:
    ignoring = '[tool.lora-lint]\nignore = ["ALL"]\n'
    repository.commit("topic", {"a.py": LOAD + MOVE, "pyproject.toml": ignoring, "lora-lint.toml": 'exclude = ["*"]\n'})
    assert bot().returncode == 1
    repository.comments.clear()
    repository.commit("main", {"pyproject.toml": ignoring})
    repository.commit("-Btopic", {"a.py": LOAD + MOVE, "pyproject.toml": None})
    assert bot().returncode == 0


def test_code_of_the_head_is_not_run_and_its_links_lead_nowhere(repository: Repository, bot: Bot, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    evil = f"open({str(touched)!r}, 'w')\n"
    (repository.folder / "link.py").symlink_to("/etc/passwd")
    modules = ("setup.py", "conftest.py", "lora_lint/__init__.py", "transformers.py", "sitecustomize.py")
    repository.commit("topic", {"a.py": evil + LOAD + MOVE, **dict.fromkeys(modules, evil)})
    assert bot().returncode == 1
    assert not touched.exists()


def test_what_stands_in_a_checked_file_is_escaped(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {"@ann #1 <b>.py": LOAD + "\n" + MOVE.replace("\n", "  # ``` --> @everyone\n"), "b.py": LOAD + WRAP})
    assert bot().returncode == 1
    (comment,) = repository.comments
    assert "@ann" not in comment["body"]
    assert "<b>" not in comment["body"].replace("\\<b\\>", "")


def test_a_notebook_is_commented_on_lines_of_its_file(repository: Repository, bot: Bot) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": text.splitlines(True)} for text in (LOAD, MOVE)]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    text = json.dumps(document, indent=1)
    repository.commit("topic", {"n.ipynb": text + "\n"})
    assert bot().returncode == 1
    (comment,) = repository.comments
    lines, first, last = text.splitlines(), comment["start_line"] - 1, comment["line"]
    assert any("cuda" in line for line in lines[first:last])
    suggestion = comment["body"].split("```suggestion\n")[1].split("\n```")[0].splitlines()
    cured = json.loads("\n".join([*lines[:first], *suggestion, *lines[last:]]))
    assert cured["cells"][1]["source"] == []


def test_dry_run_prints_and_writes_nothing(repository: Repository, bot: Bot) -> None:
    repository.commit("topic", {"a.py": LOAD + MOVE})
    done = bot("--dry-run")
    assert done.stdout.startswith("a.py:6-7\n🟡 **LL301**")
    assert not [request for request in repository.requests if not request.startswith("GET")]


def test_what_is_missing_is_said_in_one_line(repository: Repository, bot: Bot) -> None:
    for variables, text in (
        ({"GITHUB_TOKEN": ""}, "error: GITHUB_TOKEN is not set\n"),
        ({"GITHUB_EVENT_PATH": "/nowhere"}, "error: /nowhere: cannot read the event: [Errno 2] No such file or directory: '/nowhere'\n"),
        ({"GITHUB_EVENT_PATH": ""}, f"error: no pull request: name one with --pr {NAMED}, or run in a workflow that a pull request starts\n"),
    ):
        done = bot(**variables)
        assert (done.returncode, done.stderr) == (2, text)
    repository.refused = True
    assert bot().stderr == "error: GITHUB_TOKEN is not accepted: GET /repos/o/r/pulls/7: 401 Bad credentials\n"
    repository.refused = False
    assert bot("--pr", "o/r#8").stderr == "error: GET /repos/o/r/pulls/8: 404 Not Found\n"
    assert bot("--verify").returncode == 2
