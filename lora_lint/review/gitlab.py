"""GitLab's REST API, as far as the bot needs it: https://docs.gitlab.com/api/discussions/#merge-requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from lora_lint.review.forge import MARK, ChangedFile, Comment, PullRequest, Remark
from lora_lint.review.http import Client, ForgeError


class GitLab:
    """A merge request on GitLab; ``project`` is its path or number."""

    def __init__(self, client: Client, project: str, number: int) -> None:
        self._client = client
        self._project = f"/projects/{quote(project, safe='')}"
        self._merge = f"{self._project}/merge_requests/{number}"
        self._number = number
        self._start = ""
        self._before: dict[str, str] = {}

    def pull_request(self) -> PullRequest:
        refs = self._client.json("GET", self._merge).get("diff_refs")
        if not refs:
            raise ForgeError(f"merge request !{self._number} has no diff yet")
        self._start = str(refs["start_sha"])
        return PullRequest(self._number, str(refs["head_sha"]), str(refs["base_sha"]))

    def changed_files(self) -> list[ChangedFile]:
        found = []
        for file in self._client.pages(f"{self._merge}/diffs"):
            path = None if file["deleted_file"] else str(file["new_path"])
            before = None if file["new_file"] else str(file["old_path"])
            found.append(ChangedFile(path, before, file.get("diff") or None))
            self._before[str(file["new_path"])] = str(file["old_path"])
        return found

    def archive(self, commit: str) -> bytes:
        return self._client.download(f"{self._project}/repository/archive.tar.gz", sha=commit)

    def remarks(self) -> list[Remark]:
        found = []
        for thread in self._client.pages(f"{self._merge}/discussions"):
            notes = thread["notes"]
            first = next(self._own(notes[:1]), None)
            if first is not None and first.get("type") == "DiffNote" and not first.get("resolved"):
                answered = any(not note.get("system") for note in notes[1:])
                at = first.get("position") or {}
                where = str(at.get("new_path")), at.get("new_line")
                found.append(Remark(f"{thread['id']}/{first['id']}", str(first["body"]), *where, answered=answered))
        return found

    def _own(self, notes: list[Any]) -> Iterator[Any]:
        """Those that have our mark and that this token's user wrote; anybody can copy a mark."""
        marked = [note for note in notes if MARK in str(note.get("body"))]
        me = self._me() if marked else None
        return (note for note in marked if note["author"]["id"] == me)

    def _me(self) -> int:
        return int(self._client.json("GET", "/user")["id"])

    def opening(self, comment: Comment) -> str:
        return f"suggestion:-{comment.line - comment.start}+0"

    def post(self, pull: PullRequest, comments: list[Comment], text: str) -> None:
        """A thread for each comment; there is no place for a text about all."""
        for comment in comments:
            position: dict[str, Any] = {
                "position_type": "text",
                "base_sha": pull.base,
                "start_sha": self._start,
                "head_sha": pull.head,
                "new_path": comment.path,
                "old_path": self._before.get(comment.path, comment.path),
                "new_line": comment.line,
            }
            if comment.old_line is not None:
                position["old_line"] = comment.old_line
            self._client.json("POST", f"{self._merge}/discussions", {"body": comment.body(self.opening(comment)), "position": position})

    def edit(self, remark: Remark, body: str) -> None:
        thread, note = remark.id.split("/")
        self._client.json("PUT", f"{self._merge}/discussions/{thread}/notes/{note}", {"body": body})

    def delete(self, remark: Remark) -> None:
        thread, note = remark.id.split("/")
        self._client.remove(f"{self._merge}/discussions/{thread}/notes/{note}")

    def resolve(self, remark: Remark) -> None:
        self._client.json("PUT", f"{self._merge}/discussions/{remark.id.split('/')[0]}", {"resolved": True})

    def summary(self, body: str | None) -> None:
        notes = f"{self._merge}/notes"
        old = list(self._own([note for note in self._client.pages(notes) if f"{MARK} summary" in str(note.get("body"))]))
        if body is None:
            for note in old:
                self._client.remove(f"{notes}/{note['id']}")
        elif not old:
            self._client.json("POST", notes, {"body": body})
        elif old[0]["body"] != body:
            self._client.json("PUT", f"{notes}/{old[0]['id']}", {"body": body})
