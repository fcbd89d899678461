"""GitHub's REST API, as far as the bot needs it: https://docs.github.com/en/rest/pulls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lora_lint.review.forge import MARK, ChangedFile, Comment, PullRequest, Remark
from lora_lint.review.http import Client, ForgeError

_ACTIONS = "github-actions[bot]"  # the user of a workflow's own token, which may not ask who it is


class GitHub:
    """A pull request on GitHub; ``repository`` is ``owner/name``."""

    def __init__(self, client: Client, repository: str, number: int) -> None:
        self._client = client
        self._repository = f"/repos/{repository}"
        self._number = number
        self._pull = f"{self._repository}/pulls/{number}"

    def pull_request(self) -> PullRequest:
        """``base`` is the merge base, since a pull request does not introduce what its target has got in the meantime."""
        pull = self._client.json("GET", self._pull)
        head = str(pull["head"]["sha"])
        compared = self._client.json("GET", f"{self._repository}/compare/{pull['base']['sha']}...{head}", per_page=1)
        return PullRequest(self._number, head, str(compared["merge_base_commit"]["sha"]))

    def changed_files(self) -> list[ChangedFile]:
        found = []
        for file in self._client.pages(f"{self._pull}/files"):
            name, status = str(file["filename"]), file["status"]
            before = None if status == "added" else str(file.get("previous_filename", name))
            found.append(ChangedFile(None if status == "removed" else name, before, file.get("patch")))
        return found

    def archive(self, commit: str) -> bytes:
        return self._client.download(f"{self._repository}/tarball/{commit}")

    def remarks(self) -> list[Remark]:
        every = list(self._client.pages(f"{self._pull}/comments"))
        answered = {one.get("in_reply_to_id") for one in every}
        return [
            Remark(
                str(one["id"]), str(one["body"]), str(one["path"]), one.get("line"), one.get("start_line") or one.get("line"), one["id"] in answered
            )
            for one in self._own(every)
            if one.get("in_reply_to_id") is None
        ]

    def _own(self, comments: list[Any]) -> Iterator[Any]:
        """Those that have our mark and that this token's user wrote; anybody can copy a mark."""
        marked = [one for one in comments if MARK in str(one.get("body"))]
        me = self._me() if marked else ""
        return (one for one in marked if (one.get("user") or {}).get("login") == me)

    def _me(self) -> str:
        try:
            return str(self._client.json("GET", "/user")["login"])
        except ForgeError as error:
            if error.status in (401, 403):
                return _ACTIONS
            raise

    def opening(self, comment: Comment) -> str:
        return "suggestion"

    def post(self, pull: PullRequest, comments: list[Comment], text: str) -> None:
        """One review, which is one notification."""
        made = []
        for comment in comments:
            body = comment.body(self.opening(comment))
            one: dict[str, Any] = {"path": comment.path, "body": body, "line": comment.line, "side": "RIGHT"}
            if comment.start < comment.line:
                one |= {"start_line": comment.start, "start_side": "RIGHT"}
            made.append(one)
        self._client.json("POST", f"{self._pull}/reviews", {"commit_id": pull.head, "event": "COMMENT", "body": text, "comments": made})

    def edit(self, remark: Remark, body: str) -> None:
        self._client.json("PATCH", f"{self._repository}/pulls/comments/{remark.id}", {"body": body})

    def delete(self, remark: Remark) -> None:
        self._client.remove(f"{self._repository}/pulls/comments/{remark.id}")

    def resolve(self, remark: Remark) -> None:
        """Nothing: GitHub asks for a token that may write contents, which a linter should not have."""

    def summary(self, body: str | None) -> None:
        comments = f"{self._repository}/issues/{self._number}/comments"
        old = list(self._own([one for one in self._client.pages(comments) if f"{MARK} summary" in str(one.get("body"))]))
        if body is None:
            for one in old:
                self._client.remove(f"{self._repository}/issues/comments/{one['id']}")
        elif not old:
            self._client.json("POST", comments, {"body": body})
        elif old[0]["body"] != body:
            self._client.json("PATCH", f"{self._repository}/issues/comments/{old[0]['id']}", {"body": body})


def find_pull_request(client: Client, repository: str, head: str) -> int:
    """The open pull request whose head is a commit, which may be in a fork. Raises ``ForgeError`` where there is none."""
    for pull in client.pages(f"/repos/{repository}/commits/{head}/pulls"):
        if pull["state"] == "open" and pull["head"]["sha"] == head and pull["base"]["repo"]["full_name"].lower() == repository.lower():
            return int(pull["number"])
    raise ForgeError(f"no open pull request of {repository} has the head {head[:12]}")
