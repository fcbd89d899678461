"""GitHub on the loopback interface, for one repository that lies in a folder.

Each request is checked against GitHub's own description of its API. On top come the rules that the description does not have: a comment's lines must
be in the diff, tokens may be read-only, lists have pages, limits are reached. State is kept, so that a second run sees what the first one wrote.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from openapi_core import OpenAPI
from openapi_core.testing import MockRequest
from unidiff import PatchSet

SCHEMA = Path(__file__).resolve().parent.parent / "data" / "schemas" / "github.openapi.json"
BOT = {"login": "github-actions[bot]", "type": "Bot"}
PAGE = 3  # items of a page, so that every list has several


@lru_cache(maxsize=1)
def api() -> OpenAPI:
    return OpenAPI.from_dict({**json.loads(SCHEMA.read_text(encoding="utf-8")), "servers": [{"url": "http://127.0.0.1"}]})


def git(folder: Path, *arguments: str) -> bytes:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True).stdout


@dataclass
class Repository:
    """A repository of the name ``o/r`` with the branches ``main`` and ``topic``, and pull request 7 between them."""

    folder: Path
    comments: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    made: int = 100
    read_only: bool = False
    refused: bool = False
    limited: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    before_review: Callable[[], None] | None = None
    hide_patches: bool = False

    def next_id(self) -> int:
        self.made += 1
        return self.made

    def sha(self, name: str) -> str:
        return git(self.folder, "rev-parse", name).decode().strip()

    def commit(self, branch: str, files: dict[str, str | None], message: str = "change") -> None:
        """A commit on a branch; ``None`` deletes a file."""
        git(self.folder, "checkout", "-q", branch)
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", message)

    def files(self) -> list[dict[str, Any]]:
        """The changed files, with the hunks that git shows."""
        found = []
        merge_base = git(self.folder, "merge-base", "main", "topic").decode().strip()
        listed = git(self.folder, "diff", "--name-status", "-M", "-z", merge_base, "topic").decode().split("\0")
        rows: Iterator[str] = iter(listed)
        for status in rows:
            if not status:
                break
            old = next(rows)
            new = next(rows) if status[0] == "R" else old
            patch = git(self.folder, "diff", "-M", merge_base, "topic", "--", old, new).decode()
            hunks = patch[patch.index("@@") :].rstrip("\n") if "@@" in patch else None
            kind = {"A": "added", "M": "modified", "D": "removed", "R": "renamed"}[status[0]]
            one: dict[str, Any] = {"filename": new, "status": kind}
            one |= {"previous_filename": old} if kind == "renamed" else {}
            one |= {"patch": hunks} if hunks and not self.hide_patches else {}
            found.append(one)
        return found

    def hunks(self, path: str) -> list[dict[int, bool]]:
        """For each hunk of a file the lines at the head, each with whether it is added."""
        patch = next((file.get("patch") for file in self.files() if file["filename"] == path), None)
        parsed = PatchSet(f"--- a/x\n+++ b/x\n{patch}\n") if patch else []
        return [{line.target_line_no: line.is_added for line in hunk if line.target_line_no} for file in parsed for hunk in file]

    def wrong(self, comment: dict[str, Any]) -> str | None:
        """Why a comment cannot stand where it is meant to."""
        here = [hunk for hunk in self.hunks(comment["path"]) if comment["line"] in hunk]
        if not here:
            return "Line could not be resolved"
        if "start_line" in comment and not (comment["start_line"] < comment["line"] and comment["start_line"] in here[0]):
            return "start_line must precede the end line and be part of the same hunk."
        return None if len(comment["body"]) <= 65536 else "body is too long"

    def moved(self, comment: dict[str, Any]) -> dict[str, Any]:
        """A comment where it stands in the present diff: its lines follow the text; where that changed, they are gone."""
        rows = []
        for commit in (comment["commit"], "topic"):
            shown = subprocess.run(["git", "show", f"{commit}:{comment['path']}"], cwd=self.folder, capture_output=True, text=True)
            rows.append(shown.stdout.splitlines() if shown.returncode == 0 else [])
        now = {}
        for a, b, size in SequenceMatcher(None, *rows, autojunk=False).get_matching_blocks():
            now.update({a + i + 1: b + i + 1 for i in range(size)})
        lines = [now.get(comment[name]) for name in ("start_line", "line") if comment.get(name)]
        whole = None not in lines
        return {**comment, "line": lines[-1] if whole else None, "start_line": lines[0] if whole and len(lines) > 1 else None}

    def reply(self, number: int, text: str) -> None:
        """Somebody answers the comment with an index."""
        to = self.comments[number]
        user = {"login": "ann", "type": "User"}
        self.comments.append({**to, "id": self.next_id(), "in_reply_to_id": to["id"], "body": text, "user": user})


def start(folder: Path) -> Repository:
    folder.mkdir()
    git(folder, "init", "-q")
    return Repository(folder)


@contextmanager
def serve(repository: Repository) -> Iterator[str]:
    """The address of a server for the repository."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def answer(self, status: int, body: Any = None, headers: dict[str, str] | None = None) -> None:
            raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(raw)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        def pages(self, items: list[Any], query: dict[str, str]) -> None:
            page = int(query.get("page", 1))
            headers = {}
            if page * PAGE < len(items):
                address = f"http://{self.headers['Host']}{self.path.partition('?')[0]}?per_page=100&page={page + 1}"
                headers["Link"] = f'<{address}>; rel="next", <{address}>; rel="last"'
            self.answer(200, items[(page - 1) * PAGE : page * PAGE], headers)

        def handle_any(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            address = urlsplit(self.path)
            query = dict(parse_qsl(address.query))
            repository.requests.append(f"{self.command} {address.path}")
            if repository.limited:
                status, headers = repository.limited.pop(0)
                self.answer(status, {"message": "You have exceeded a secondary rate limit."}, headers)
                return
            if not self.headers.get("Authorization", "").startswith("Bearer "):
                self.answer(401, {"message": "Requires authentication"})
                return
            if repository.refused:
                self.answer(401, {"message": "Bad credentials"})
                return
            kind = (self.headers.get("Content-Type") or "application/json").split(";")[0]
            request = MockRequest("http://127.0.0.1", self.command.lower(), address.path, args=query, data=raw or None, content_type=kind)
            try:
                api().validate_request(request)
            except Exception as error:
                reasons = [one.message for one in getattr(error.__cause__, "schema_errors", ())] or [f"{self.command} {address.path}: {error}"]
                repository.violations += reasons
                self.answer(422, {"message": "Invalid request.", "errors": reasons})
                return
            if self.command != "GET" and repository.read_only:
                self.answer(403, {"message": "Resource not accessible by integration", "status": "403"})
                return
            self.route(f"{self.command} {address.path}", json.loads(raw) if raw else {}, query)

        def route(self, what: str, body: dict[str, Any], query: dict[str, str]) -> None:
            head, base = repository.sha("topic"), repository.sha("main")
            of = "/repos/o/r"
            pull = {"number": 7, "state": "open", "head": {"sha": head, "repo": None}, "base": {"sha": base, "repo": {"full_name": "o/r"}}}
            if what == f"GET {of}/pulls/7":
                self.answer(200, pull)
            elif what == f"GET {of}/commits/{head}/pulls":
                self.pages([{**pull, "number": 6, "state": "closed"}, pull], query)
            elif what == f"GET {of}/compare/{base}...{head}":
                self.answer(200, {"merge_base_commit": {"sha": git(repository.folder, "merge-base", base, head).decode().strip()}})
            elif what == f"GET {of}/pulls/7/files":
                self.pages(repository.files(), query)
            elif found := re.fullmatch(rf"GET {of}/tarball/(\w+)", what):
                self.answer(200, git(repository.folder, "archive", "--format=tar.gz", "--prefix=o-r-1234/", found[1]))
            elif what == "GET /user":
                self.answer(403, {"message": "Resource not accessible by integration"})
            elif what == f"GET {of}/pulls/7/comments":
                self.pages([repository.moved(comment) for comment in repository.comments], query)
            elif what == f"GET {of}/issues/7/comments":
                self.pages(repository.notes, query)
            elif what == f"POST {of}/pulls/7/reviews":
                self.review(body)
            elif what == f"POST {of}/issues/7/comments":
                repository.notes.append({"id": 900 + len(repository.notes), "user": BOT, "body": body["body"]})
                self.answer(201, repository.notes[-1])
            elif found := re.fullmatch(rf"(PATCH|DELETE) {of}/(pulls|issues)/comments/(\d+)", what):
                self.change(found[1], repository.comments if found[2] == "pulls" else repository.notes, int(found[3]), body)
            else:
                self.answer(404, {"message": "Not Found"})

        def review(self, body: dict[str, Any]) -> None:
            if repository.before_review:
                repository.before_review()
            made = body.get("comments", [])
            errors = [reason for reason in map(repository.wrong, made) if reason]
            if body["event"] == "COMMENT" and not body.get("body"):
                errors.append("Body can't be blank")
            if body["commit_id"] != repository.sha("topic"):
                errors.append("commit_id is not part of the pull request")
            if errors:
                self.answer(422, {"message": "Unprocessable Entity", "errors": errors})
                return
            repository.reviews.append(body)
            for comment in made:
                row = {"id": repository.next_id(), "user": BOT, "in_reply_to_id": None, "commit": body["commit_id"], **comment}
                repository.comments.append(row)
            self.answer(200, {"id": len(repository.reviews)})

        def change(self, method: str, rows: list[dict[str, Any]], number: int, body: dict[str, Any]) -> None:
            row = next((row for row in rows if row["id"] == number), None)
            if row is None:
                self.answer(404, {"message": "Not Found"})
            elif method == "DELETE":
                rows.remove(row)
                self.answer(204)
            else:
                row["body"] = body["body"]
                self.answer(200, row)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815 - the names that the server looks for

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
