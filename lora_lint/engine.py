"""From a source to its findings: pre-filter, parse, recipe, rules, severities, suppressions.

``analyse`` is the only door to the interpreter and the rules, so that they are imported only for files that need them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lora_lint import codes, triage
from lora_lint.config import Settings
from lora_lint.findings import Finding, Position, Severity, Span
from lora_lint.project import Project, find_root
from lora_lint.source import ReadError, Source, SourceError, TooLargeError
from lora_lint.suppressions import Suppressions
from lora_lint.target import Target

if TYPE_CHECKING:
    from lora_lint.dependencies import Detector


@dataclass(frozen=True)
class FileResult:
    """What the check of one file came to.

    ``source`` is the text that ``findings`` refer to (``None`` when it could not be read), ``error`` why it could not be checked, ``suppressed``
    what comments silenced, ``fixed`` what was cured, ``before`` the source before that, ``messages`` lines for the user (fixes taken back).
    """

    path: str
    source: Source | None
    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Finding] = field(default_factory=list)
    error: SourceError | None = None
    fixed: list[Finding] = field(default_factory=list)
    before: Source | None = None
    messages: list[str] = field(default_factory=list)


def analyse(source: Source, target: Callable[[], Target], enabled: frozenset[str], project: Project | None) -> list[Finding]:
    """What the rules say, suppressions not yet applied. The target is asked for only if the file concerns us. Raises ``SourceError``."""
    if not triage.concerns(source, project, enabled):
        if triage.names_library(source) and not source.plain:
            _ = source.module  # for what is wrong with it
        return []
    _ = source.module
    from lora_lint import recipe, rules

    return rules.run(recipe.build(source, project), target(), enabled)


def target_of(source: Source, settings: Settings, detector: Detector | None) -> Target:
    """The versions that a source may meet: what the settings say, then what stands in it and in the dependency files around it."""
    if detector is None or not settings.detect:
        return settings.target
    return settings.target.over(detector.derive(_place(source), source.original, source.line_name).known)


def _place(source: Source) -> Path | None:
    return Path(os.path.abspath(source.file)) if source.file else None


def check_source(source: Source, settings: Settings, project: Project | None = None, detector: Detector | None = None) -> FileResult:
    """Check one source. Never raises for what stands in it: an error is in the result, and a finding of its own where it has a place.

    Without a ``detector`` nothing but the source itself is read, and the target is what the settings say.
    """
    enabled = settings.for_file(_place(source))
    try:
        found = analyse(source, lambda: target_of(source, settings, detector), enabled, project)
        found = [_editable(finding, source) for finding in found if finding.code in enabled]
        if source.problems and triage.names_library(source):
            found += [syntax_finding(source.path, problem, source) for problem in source.problems]
        outcome = Suppressions(source).apply(found, enabled)
    except SourceError as error:
        return _failed(source, error)
    except RecursionError:
        return _failed(source, SourceError("nested too deeply to be analysed"))
    except Exception as problem:
        if os.environ.get("LORA_LINT_RAISE"):  # for those who work on lora-lint itself
            raise
        text = f"internal error, please report it: {type(problem).__name__}: {' '.join(str(problem).split())}"
        return FileResult(source.path, source, error=SourceError(text))
    shown = [finding for finding in outcome.kept if finding.severity >= settings.severity]
    return FileResult(source.path, source, shown, outcome.suppressed)


def _editable(finding: Finding, source: Source) -> Finding:
    """The finding, without its fix where that would edit what may not be edited."""
    if finding.fix is None or all(source.editable(edit) for edit in finding.fix.edits):
        return finding
    return replace(finding, fix=None)


def _failed(source: Source, error: SourceError) -> FileResult:
    return FileResult(source.path, source, [syntax_finding(source.path, error, source)], error=error)


def check_and_fix(
    source: Source, settings: Settings, project: Project | None = None, detector: Detector | None = None, *, unsafe: bool = False
) -> FileResult:
    """Check one source and cure what can be cured, in memory; the result's ``source`` is the text after that."""
    first = check_source(source, settings, project, detector)
    if first.error or not any(finding.fix for finding in first.findings):
        return first
    from lora_lint.fix import fix_text

    def check(current: Source) -> list[Finding]:
        current.file = source.file  # imports and per-file settings go by the place
        result = first if current.data == source.data else check_source(current, settings, project, detector)
        if result.error:
            raise result.error
        return result.findings

    done = fix_text(source, check, unsafe)
    return FileResult(source.path, done.source_after, done.remaining, fixed=done.applied, before=source, messages=done.rolled_back)


def check_file(path: Path, display: str, settings: Settings, projects: Projects, *, fix: bool = False, unsafe: bool = False) -> FileResult:
    """Read and check one file, with fixes in memory if asked for."""
    try:
        source = Source.read(path, display)
    except SourceError as error:
        return unreadable(display, error)
    project = projects.of(path)
    if fix:
        return check_and_fix(source, settings, project, projects.detector, unsafe=unsafe)
    return check_source(source, settings, project, projects.detector)


def check_recorded(path: Path, display: str, settings: Settings, projects: Projects) -> tuple[FileResult, set[str]]:
    """``check_file``, and the files and folders on which the result rests besides the file itself."""
    project, detector = projects.of(path), projects.detector
    project.used, detector.asked = set(), False
    result = check_file(path, display, settings, projects)
    used = project.used | (detector.used(path.parent) if detector.asked else set())
    return lean(result), used


def lean(result: FileResult) -> FileResult:
    """A result without the text, where nothing refers to it: thousands of them must fit into memory."""
    if result.findings or result.suppressed or result.error or result.fixed or result.messages:
        return result
    return replace(result, source=None)


def unreadable(display: str, error: SourceError) -> FileResult:
    """The result for a file whose text could not be had; a finding only where the contents are at fault, a message where it is just too large."""
    if isinstance(error, TooLargeError):
        return FileResult(display, None, messages=[f"{display}: skipped, {error.message}"])
    findings = [] if isinstance(error, ReadError) else [syntax_finding(display, error, None)]
    return FileResult(display, None, findings, error=error)


def syntax_finding(path: str, error: SourceError, source: Source | None) -> Finding:
    """The finding for a file that cannot be decoded or parsed."""
    start = error.position or Position(1, 1)
    line = source.line(start.line) if source else ""
    end = Position(start.line, start.column + (1 if start.column <= len(line) else 0))
    name = codes.META[codes.SYNTAX_ERROR]
    return Finding(codes.SYNTAX_ERROR, name, Severity.ERROR, error.message, path, Span(start, end), line_text=line)


class Projects:
    """The projects of a run, one for each root, and the detector of their versions, so that modules and dependency files are read once."""

    def __init__(self, root_of: Callable[[Path], Path] = find_root) -> None:
        self._root_of = root_of
        self._folders: dict[Path, Project] = {}
        self._roots: dict[Path, Project] = {}

    @cached_property
    def detector(self) -> Detector:
        """Where the versions of the libraries are learned from."""
        from lora_lint.dependencies import Detector

        return Detector()

    def of(self, file: Path) -> Project:
        """The project that a file belongs to."""
        found = self._folders.get(file.parent)
        if found is None:
            root = self._root_of(file)
            found = self._folders[file.parent] = self._roots.setdefault(root, Project(root))
        return found
