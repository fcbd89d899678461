"""What the bot asks of a forge, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MARK = "<!-- lora-lint:v1"
"""What begins the hidden line of each comment of ours."""


@dataclass(frozen=True)
class PullRequest:
    """``head`` is the commit to review, ``base`` the commit that its changes are counted from (the merge base)."""

    number: int
    head: str
    base: str


@dataclass(frozen=True)
class ChangedFile:
    """A file that a pull request touches.

    ``path`` is its name at the head (``None``: it is deleted), ``before`` that at the base (``None``: it is new), ``patch`` the hunks of its unified
    diff (``None``: the forge does not show them, as for large files).
    """

    path: str | None
    before: str | None
    patch: str | None


@dataclass(frozen=True)
class Comment:
    """A comment to write on lines of a file at the head, ``start`` to ``line``.

    ``suggestion`` replaces these lines, whole. ``old_line`` is the number of ``line`` at the base (``None``: it is added).
    """

    path: str
    start: int
    line: int
    text: str
    mark: str
    suggestion: str | None = None
    old_line: int | None = None

    def body(self, opening: str) -> str:
        """The whole text; ``opening`` is what the forge wants after the fence of a suggestion."""
        parts = [self.text]
        if self.suggestion is not None:
            parts.append(fenced(self.suggestion, opening))
        return "\n\n".join([*parts, self.mark])


@dataclass(frozen=True)
class Remark:
    """A comment of ours from an earlier run, and where it stands in the present diff.

    ``line`` is its last line at the head (``None``: it is gone), ``start`` its first one (``None``: the forge does not tell). ``answered``: somebody
    replied.
    """

    id: str
    body: str
    path: str
    line: int | None
    start: int | None = None
    answered: bool = False

    def stands_as(self, comment: Comment) -> bool:
        """Whether it stands on the very lines of a comment, so that a suggestion in it would replace the right ones."""
        return self.path == comment.path and self.line == comment.line and self.start in (None, comment.start)


class Forge(Protocol):
    """One pull request on one forge. Every method raises ``ForgeError``, those that write ``ReadOnlyError``."""

    def pull_request(self) -> PullRequest:
        """The pull request as it is now."""

    def changed_files(self) -> list[ChangedFile]:
        """All files that it touches."""

    def archive(self, commit: str) -> bytes:
        """The files of a commit, as a .tar.gz with one folder at its top."""

    def remarks(self) -> list[Remark]:
        """The comments on lines that this token's user wrote in earlier runs."""

    def opening(self, comment: Comment) -> str:
        """What follows the fence of a suggestion."""

    def post(self, pull: PullRequest, comments: list[Comment], text: str) -> None:
        """Write comments, and say ``text`` about them where the forge has a place for that."""

    def edit(self, remark: Remark, body: str) -> None:
        """Give a comment another text."""

    def delete(self, remark: Remark) -> None:
        """Take a comment away; one that is gone already is no error."""

    def resolve(self, remark: Remark) -> None:
        """Mark a thread as settled, where the forge lets a bot do that."""

    def summary(self, body: str | None) -> None:
        """Set the one comment on the pull request as a whole; ``None`` takes it away."""


def fenced(text: str, opening: str) -> str:
    """A text as a fenced block that nothing in it can close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{opening}\n{text}\n{fence}"
