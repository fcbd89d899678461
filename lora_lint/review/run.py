"""One run of the bot, from the options to the exit status."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lora_lint.config import ConfigError
from lora_lint.engine import FileResult
from lora_lint.findings import Severity
from lora_lint.report import Report, additions, render
from lora_lint.report.entries import Entry
from lora_lint.report.places import root
from lora_lint.report.terminal import complain, echo
from lora_lint.review import handover, text
from lora_lint.review.compare import Comparison
from lora_lint.review.diff import Lines, lines
from lora_lint.review.forge import ChangedFile, Forge, PullRequest
from lora_lint.review.http import ForgeError, ReadOnlyError
from lora_lint.review.plan import Plan, plan
from lora_lint.review.snapshot import unpack
from lora_lint.review.subject import subject
from lora_lint.statuses import FAILED, FINDINGS

_UNPROCESSABLE = 422


@dataclass(frozen=True)
class Options:
    """As given on the command line; ``environment`` is that of the process."""

    pr: str | None = None
    write: str | None = None
    post: str | None = None
    max_comments: int = 25
    dry_run: bool = False
    exit_zero: bool = False
    environment: Mapping[str, str] | None = None


def review(options: Options) -> int:
    """Review a pull request; returns the exit status: 1 where it introduces findings at or above ``fail-on``, 2 where it cannot be reviewed."""
    env = os.environ if options.environment is None else options.environment
    try:
        forge = subject(options.pr, env).forge(env)
        pull = forge.pull_request()
        changes = forge.changed_files()
        shown = {change.path: lines(change.patch) for change in changes if change.path}
        if options.post:
            found, gate = handover.read(Path(options.post), pull.head, shown), Severity.ERROR
        else:
            found, gate = _lint(forge, pull, changes)
        found.sort(key=lambda entry: (entry.finding.path, entry.finding.span))
        found.sort(key=lambda entry: entry.finding.severity, reverse=True)
        if options.write:
            handover.write(Path(options.write), pull.head, found)
        elif options.dry_run:
            _show(plan(found, shown, [], options.max_comments, forge.opening))
        else:
            if not _carry_out(forge, pull, found, shown, options.max_comments, env):
                return 0
    except (ForgeError, ConfigError, OSError) as error:
        complain(f"error: {error}")
        return FAILED
    complain(f"{len(found)} finding{'s' if len(found) != 1 else ''} introduced by #{pull.number} at {pull.head[:12]}.")
    bad = not options.post and any(entry.finding.severity >= gate for entry in found)
    return FINDINGS if bad and not options.exit_zero else 0


def _lint(forge: Forge, pull: PullRequest, changes: Sequence[ChangedFile]) -> tuple[list[Entry], Severity]:
    """What the pull request introduces, and the severity that fails the run."""
    with tempfile.TemporaryDirectory(prefix="lora-lint-") as temporary:
        base, head = Path(temporary).resolve() / "base", Path(temporary).resolve() / "head"
        for commit, folder in ((pull.base, base), (pull.head, head)):
            unpack(forge.archive(commit), folder)
        comparison = Comparison(base, head, changes)
        return comparison.introduced(), comparison.fail_on


def _carry_out(forge: Forge, pull: PullRequest, found: list[Entry], shown: Mapping[str, Lines], most: int, env: Mapping[str, str]) -> bool:
    """Bring the comments on the pull request in line with what was found; ``False`` where it has moved on. Raises ``ForgeError``."""
    made = plan(found, shown, forge.remarks(), most, forge.opening)
    try:
        for remark, body in made.edit:
            forge.edit(remark, body)
        for remark in made.delete:
            forge.delete(remark)
        for remark in made.settle:
            forge.edit(remark, text.settled(pull.head))
            forge.resolve(remark)
        if made.post:
            forge.post(pull, made.post, text.opening(len(made.post)))
        forge.summary(made.summary)
    except ReadOnlyError as error:
        on_github = bool(env.get("GITHUB_ACTIONS"))
        complain(f"warning: {error}; the findings are {'annotations' if on_github else 'printed'} instead")
        report = _report(found, root() if on_github else "")
        echo(render(report, "github" if on_github else "concise"))
        for file, added in additions(report, "github") if on_github else ():
            with Path(file).open("a", encoding="utf-8", newline="\n") as stream:
                stream.write(added)
    except ForgeError as error:
        if error.status != _UNPROCESSABLE or forge.pull_request().head == pull.head:
            raise
        complain("warning: the pull request has got new commits meanwhile; the run for these will review it")
        return False
    return True


def _report(found: Sequence[Entry], base: str) -> Report:
    """The findings as a check reports them, their files below the folder ``base``."""
    files: dict[str, FileResult] = {}
    for entry in found:
        path = os.path.join(base, entry.finding.path)
        result = files.setdefault(path, FileResult(path, entry.source))
        result.findings.append(replace(entry.finding, path=path))
    return Report(list(files.values()))


def _show(made: Plan) -> None:
    for comment in made.post:
        place = f"{comment.path}:{comment.start}" + (f"-{comment.line}" if comment.start < comment.line else "")
        echo(f"{place}\n{comment.body('suggestion')}\n\n")
    if made.summary:
        echo(made.summary + "\n")
