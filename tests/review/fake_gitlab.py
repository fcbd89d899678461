"""GitLab on the loopback interface, as far as its documentation says what it takes: merge request 7 of the project ``g/p``.

The rules for positions are those of https://docs.gitlab.com/api/discussions/#create-a-new-thread-in-the-merge-request-diff.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from unidiff import PatchSet

from review.fake_github import Repository, git

BOT = {"id": 9, "username": "project_1_bot"}
MERGE = "/projects/g%2Fp/merge_requests/7"


def lines(repository: Repository, path: str) -> dict[int, int | None]:
    """The lines of a file that the diff shows, by their number at the head, each with that at the base; ``None`` where it is added."""
    patch = next((file.get("patch") for file in repository.files() if file["filename"] == path), None)
    parsed = PatchSet(f"--- a/x\n+++ b/x\n{patch}\n") if patch else []
    return {line.target_line_no: line.source_line_no for file in parsed for hunk in file for line in hunk if line.target_line_no}


class Handler(BaseHTTPRequestHandler):
    """Comments are threads of notes; those on the merge request as a whole are notes alone."""

    repository: Repository

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, body: Any = None) -> None:
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def handle_any(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        self.repository.requests.append(f"{self.command} {address.path}")
        if self.headers.get("Private-Token") != "t":
            self.answer(401, {"message": "401 Unauthorized"})
        elif self.command != "GET" and self.repository.read_only:
            self.answer(403, {"message": "403 Forbidden"})
        else:
            self.route(f"{self.command} {address.path}", json.loads(raw) if raw else {}, dict(parse_qsl(address.query)))

    def route(self, what: str, body: dict[str, Any], query: dict[str, str]) -> None:
        here = self.repository
        if what == f"GET {MERGE}":
            self.answer(200, {"iid": 7, "diff_refs": self.refs()})
        elif what == f"GET {MERGE}/diffs":
            self.answer(200, [self.diff(file) for file in here.files()])
        elif what == "GET /projects/g%2Fp/repository/archive.tar.gz":
            self.answer(200, git(here.folder, "archive", "--format=tar.gz", "--prefix=p/", query["sha"]))
        elif what == "GET /user":
            self.answer(200, BOT)
        elif what == f"GET {MERGE}/discussions":
            self.answer(200, here.comments)
        elif what == f"GET {MERGE}/notes":
            self.answer(200, here.notes)
        elif what == f"POST {MERGE}/notes":
            here.notes.append({"id": len(here.notes), "author": BOT, "body": body["body"]})
            self.answer(201, here.notes[-1])
        elif what == f"POST {MERGE}/discussions":
            self.thread(body)
        elif found := re.fullmatch(rf"(PUT|DELETE) {MERGE}/discussions/(\w+)(?:/notes/(\d+))?", what):
            self.change(found[1], found[2], body)
        elif found := re.fullmatch(rf"DELETE {MERGE}/notes/(\d+)", what):
            here.notes[:] = [note for note in here.notes if note["id"] != int(found[1])]
            self.answer(204)
        else:
            self.answer(404, {"message": "404 Not found"})

    def refs(self) -> dict[str, str]:
        here = self.repository
        base = git(here.folder, "merge-base", "main", "topic").decode().strip()
        return {"base_sha": base, "start_sha": here.sha("main"), "head_sha": here.sha("topic")}

    @staticmethod
    def diff(file: dict[str, Any]) -> dict[str, Any]:
        flags = {"new_file": file["status"] == "added", "deleted_file": file["status"] == "removed", "renamed_file": file["status"] == "renamed"}
        return {"new_path": file["filename"], "old_path": file.get("previous_filename", file["filename"]), "diff": file.get("patch", ""), **flags}

    def thread(self, body: dict[str, Any]) -> None:
        here, at = self.repository, body["position"]
        shown = lines(here, at["new_path"])
        wrong = {name: at.get(name) for name, value in self.refs().items() if at.get(name) != value}
        if wrong or at["position_type"] != "text" or "old_path" not in at or shown.get(at["new_line"], 0) != at.get("old_line"):
            self.answer(400, {"message": f'400 Bad request - Note {{:line_code=>["can\'t be blank"]}} {wrong}'})
            return
        note = {"id": 10 + len(here.comments), "type": "DiffNote", "author": BOT, "body": body["body"], "system": False}
        note |= {"resolved": False, "position": at}
        here.comments.append({"id": f"a{len(here.comments)}", "notes": [note]})
        self.answer(201, here.comments[-1])

    def change(self, method: str, thread: str, body: dict[str, Any]) -> None:
        row = next((row for row in self.repository.comments if row["id"] == thread), None)
        if row is None:
            self.answer(404, {"message": "404 Not found"})
        elif method == "DELETE":
            self.repository.comments.remove(row)
            self.answer(204)
        else:
            row["notes"][0].update(body)
            self.answer(200, row)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - the names that the server looks for


@contextmanager
def serve(repository: Repository) -> Iterator[str]:
    """The address of a server for the repository."""
    handler = type("Bound", (Handler,), {"repository": repository})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
