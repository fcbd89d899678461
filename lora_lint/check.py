"""One run of the ``check`` command: files in, report and exit status out."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lora_lint.config import Config, Configs, Overrides, Settings, settings
from lora_lint.discovery import File, discover
from lora_lint.findings import Severity
from lora_lint.report import Report, additions, render, statistics
from lora_lint.report.terminal import Progress, complain, echo, use_color, use_links
from lora_lint.statuses import FAILED, FINDINGS

if TYPE_CHECKING:
    from lora_lint.cache import Cache
    from lora_lint.engine import FileResult, Projects
    from lora_lint.source import Source
    from lora_lint.verify.session import Session


class UsageError(Exception):
    """Options that do not go together; the text is one clear line."""


@dataclass
class Check:
    """One run: the options of the command as given (``None``: not given). Raises ``ConfigError`` where options or configuration are wrong."""

    fix: bool | None
    unsafe_fixes: bool | None
    diff: bool
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    extend_select: tuple[str, ...]
    preview: bool | None
    target: tuple[str, ...]
    python: str | None
    severity: str | None
    fail_on: str | None
    output_format: str | None
    output_file: str | None
    statistics: bool
    sarif_suppressed: bool
    exit_zero: bool
    exit_non_zero_on_fix: bool
    add_ignore: str | None
    baseline: str | None
    write_baseline: bool
    prune_baseline: bool
    isolated: bool
    config: str | None
    stdin_filename: str | None
    no_cache: bool
    cache_dir: str | None
    jobs: int | None
    force_exclude: bool | None
    color: str
    verify: bool
    verify_device: str | None
    verify_timeout: float | None
    verify_args: str | None
    verify_python: str | None
    failed: bool = False

    def __post_init__(self) -> None:
        self._configs = Configs(forced=Path(self.config) if self.config else None, isolated=self.isolated)
        main = self._configs.of(Path.cwd())
        self._fix = main.fix if self.fix is None else self.fix
        self._unsafe = main.unsafe_fixes if self.unsafe_fixes is None else self.unsafe_fixes
        self._format = self.output_format or main.output_format or "full"
        self._main = main
        self._progress = Progress(sys.stderr)
        if self.add_ignore is not None:  # the bytes of the command line, whatever the locale made of them
            self.add_ignore = os.fsencode(self.add_ignore).decode("utf-8", "replace")
        self._settings: dict[int, tuple[Config, Settings]] = {}
        self._settings_of(main)
        self._session = self._verifier() if self.verify else None
        given = {"--verify-" + name: getattr(self, f"verify_{name}") for name in ("device", "timeout", "args", "python")}
        for option, value in given.items():
            if value is not None and not self.verify:
                raise UsageError(f"{option} says how --verify runs the script: give --verify, too")

    def _verifier(self) -> Session:
        from lora_lint.verify.session import TIMEOUT, Request, Session

        python = Path(self.verify_python) if self.verify_python else None
        return Session(Request(self.verify_device or "auto", self.verify_timeout or TIMEOUT, self.verify_args or "", python), self._say)

    def _settings_of(self, config: Config) -> Settings:
        if id(config) not in self._settings:
            self._settings[id(config)] = (config, settings(config, self._overrides()))
        return self._settings[id(config)][1]

    def _overrides(self) -> Overrides:
        shown = Severity(self.severity) if self.severity else self._main.severity
        failing = Severity(self.fail_on) if self.fail_on else self._main.fail_on
        if failing and failing < (shown or Severity.WARNING):
            shown = failing  # what makes the run fail must be seen
        return Overrides(self.select, self.ignore, self.extend_select, self.target, Path(self.python) if self.python else None, shown, self.preview)

    def _say(self, line: str) -> None:
        """Print a line on standard error, over what shows the progress."""
        self._progress.clear()
        complain(line)

    def complain(self, message: str) -> None:
        """Report what could not be done; the run goes on and ends with status 2."""
        self.failed = True
        self._say(f"error: {message}")

    def files(self, paths: Sequence[str]) -> int:
        """Check files and folders; returns the exit status."""
        from lora_lint.engine import Projects

        if self.verify and (bad := [path for path in paths if not Path(path).is_file()]):
            raise UsageError(f"--verify executes scripts, so name them: {bad[0]} is {'a folder' if Path(bad[0]).is_dir() else 'not there'}")
        found = list(discover(paths, self._configs, self.complain, force_exclude=self.force_exclude))
        results = self._changing(found, Projects()) if self.verify or self.fix_or_comment else self._reading(found)
        if not results and not self.failed:
            self._say("warning: no Python files found under the given paths")
        self._progress.clear()
        return self._finish(self._settle(results))

    @property
    def fix_or_comment(self) -> bool:
        """Whether files may be changed, in memory at least."""
        return self._fix or self.diff or self.add_ignore is not None

    def _changing(self, files: list[File], projects: Projects) -> list[FileResult]:
        """Check files one after the other, and change them."""
        results = []
        for file in files:
            self._progress.step(file.display)
            result = self._one(file, projects)
            if self._fix and not self.diff and result.fixed and not self._write(file.path, result):
                continue
            if self.add_ignore is not None and not self.diff:
                result = self._silence(file, result, self.add_ignore, projects)
            results.append(result)
        return results

    def _reading(self, files: list[File]) -> list[FileResult]:
        """Check files: what the cache knows is taken from there, the rest is checked, in several processes where that pays."""
        cache = self._cache()
        results: list[FileResult | None] = [None] * len(files)
        keys: list[str] = []
        left: list[int] = []
        key_of = self._keys() if cache is not None else None
        for i, file in enumerate(files):
            if cache is not None and key_of is not None:
                keys.append(key_of(file))
                results[i] = cache.get(file.path, file.display, keys[i])
            if results[i] is None:
                left.append(i)
        if left:
            from lora_lint.processes import Task, check_all, default_jobs

            numbers: dict[int, int] = {}
            settings: list[Settings] = []
            tasks = []
            for i in left:
                mine = self._settings_of(files[i].config)
                if id(mine) not in numbers:
                    numbers[id(mine)] = len(settings)
                    settings.append(mine)
                tasks.append(Task(files[i].path, files[i].display, numbers[id(mine)], _size(files[i].path)))
            try:
                for i, (result, used) in zip(left, check_all(tasks, settings, self.jobs or default_jobs(), self._progress.step), strict=True):
                    results[i] = result
                    if cache is not None:
                        cache.put(files[i].path, keys[i], result, used)
            finally:
                if cache is not None:
                    cache.save()
        elif cache is not None:
            cache.save()
        done = [result for result in results if result is not None]
        for result in done:
            self._note(result)
        return done

    def _cache(self) -> Cache | None:
        if self.no_cache:
            return None
        from lora_lint.cache import Cache, folder_of

        return Cache(folder_of(self.cache_dir, self._main.root), self._say)

    def _keys(self) -> Callable[[File], str]:
        """What the settings of a file come to, computed once for each folder."""
        from lora_lint.cache import settings_key
        from lora_lint.project import roots

        root_of = roots()
        known: dict[tuple[int, frozenset[str], Path], str] = {}

        def key(file: File) -> str:
            mine = self._settings_of(file.config)
            enabled = mine.for_file(file.path)
            place = (id(mine), enabled, root_of(file.path))
            if place not in known:
                known[place] = settings_key(mine, enabled, place[2])
            return known[place]

        return key

    def _settle(self, results: list[FileResult]) -> list[FileResult]:
        """What is left to report when the baseline hides what it counts."""
        from lora_lint.baseline import DEFAULT, Baseline, BaselineError

        named = Path(self.baseline) if self.baseline else self._main.root / self._main.baseline if self._main.baseline else None
        if named is None and not self.write_baseline and not self.prune_baseline:
            return results
        file = named or Path(DEFAULT)
        try:
            baseline = Baseline(file) if self.write_baseline and not file.exists() else Baseline.read(file)
        except BaselineError as error:
            self.complain(str(error))
            return results
        if self.write_baseline or self.prune_baseline:
            baseline = baseline.of(results) if self.write_baseline else baseline.pruned(results)
            from lora_lint.fix import write_atomically

            try:
                write_atomically(file, baseline.text().encode("utf-8"))
            except OSError as error:
                self.complain(f"{file}: cannot write: {error.strerror or error}")
                return results
            self._say(f"{file}: {len(baseline)} finding{'s' if len(baseline) != 1 else ''} counted.")
        results, stale = baseline.apply(results)
        for line in stale:
            self.complain(f"{file}: stale: {line}; --prune-baseline takes it out")
        return results

    def _silence(self, file: File, result: FileResult, reason: str, projects: Projects) -> FileResult:
        """Write suppression comments for what was found in a file, and check it once more."""
        from lora_lint.ignores import add_ignores

        if result.source is None or result.error or not result.findings:
            return result
        text, silenced = add_ignores(result.source, result.findings, reason)
        if not silenced or not self._write(file.path, replace(result, source=result.source.with_text(text))):
            return result
        self._say(f"{result.path}: {len(silenced)} finding{'s' if len(silenced) != 1 else ''} silenced.")
        return self._one(file, projects)

    def _one(self, file: File, projects: Projects) -> FileResult:
        from lora_lint.engine import check_file

        fix = (self._fix or self.diff) and self._session is None
        result = check_file(file.path, file.display, self._settings_of(file.config), projects, fix=fix, unsafe=self._unsafe)
        if self._session is not None:
            result = self._verified(file, result, projects, self._session)
        self._note(result)
        return result

    def _verified(self, file: File, result: FileResult, projects: Projects, session: Session) -> FileResult:
        """The result with verdicts; with --fix, after the fixes that a real step bears out."""
        from lora_lint.engine import check_source
        from lora_lint.verify import VerifyError

        if result.source is None or result.error:
            return result
        settings, project = self._settings_of(file.config), projects.of(file.path)
        source = result.source
        try:
            enabled = settings.for_file(file.path)
            findings = session.verify(source, result.findings, project, enabled)
            if not (self._fix or self.diff):
                return replace(result, findings=findings)
            check = partial(check_source, settings=settings, project=project, detector=projects.detector)
            tried = session.fix(source, findings, lambda changed: check(changed).findings, project, self._unsafe, enabled)
        except VerifyError as error:
            self.complain(str(error))
            return result
        for line in tried.lines:
            self._say(line)
        if not tried.kept:
            return replace(result, findings=findings)
        return replace(result, source=tried.source, findings=tried.left, fixed=tried.kept, before=source)

    def _note(self, result: FileResult) -> None:
        """Say on standard error what no finding says."""
        for message in result.messages:
            self._say(f"warning: {message}")
        if result.error:
            self.failed = True
            if not result.findings:
                self._say(f"error: {result.path}: {result.error.message}")

    def _write(self, path: Path, result: FileResult) -> bool:
        from lora_lint.fix import write_atomically
        from lora_lint.source import Source, SourceError

        assert result.source is not None
        old = result.before

        def unchanged() -> None:
            now = Source.read(path) if old is not None else None
            if old is not None and now is not None and (now.text, now.bom) != (old.text, old.bom):
                raise SourceError("it was changed in the meantime")

        try:
            write_atomically(path, result.source.encode(result.source.text), unchanged)
        except (OSError, SourceError) as error:
            reason = error.message if isinstance(error, SourceError) else error.strerror or error
            self.complain(f"{result.path}: cannot write: {reason}")
            return False
        return True

    def stdin(self) -> int:
        """Check standard input; with --fix the cured text goes to standard output and the findings to standard error."""
        from lora_lint.engine import Projects, check_and_fix, check_source, unreadable
        from lora_lint.source import SourceError, source_of

        if self.verify:
            raise UsageError("--verify executes a script, so it needs a file, not standard input")
        raw = sys.stdin.buffer.read()
        name = self.stdin_filename or "-"
        file = Path(self.stdin_filename).absolute() if self.stdin_filename else None
        config = self._configs.of(file.parent) if file else self._main
        force = config.force_exclude if self.force_exclude is None else self.force_exclude
        if file and force and config.excludes(file):
            if self._fix and not self.diff:
                sys.stdout.buffer.write(raw)
            return 0
        try:
            source = source_of(raw, name, file=file)
        except SourceError as error:
            result = unreadable(name, error)
        else:
            projects = Projects()
            project = projects.of(file) if file else None
            settings = self._settings_of(config)
            if self._fix or self.diff:
                result = check_and_fix(source, settings, project, projects.detector, unsafe=self._unsafe)
            else:
                result = check_source(source, settings, project, projects.detector)
        self._note(result)
        if self._fix and not self.diff:
            sys.stdout.buffer.write(result.source.encode(result.source.text) if result.source and result.fixed else raw)
            return self._finish([result], to_stderr=True)
        return self._finish([result])

    def _finish(self, results: list[FileResult], *, to_stderr: bool = False) -> int:
        """Print the report; returns the exit status."""
        fixed = sum(len(result.fixed) for result in results)
        if self.diff:
            text = "".join(_diff(result.before, result.source) for result in results if result.before and result.source and result.fixed)
            self._print(text, to_stderr)
            if fixed:
                self._say(f"Would fix {fixed} finding{'s' if fixed != 1 else ''}.")
            return FAILED if self.failed else FINDINGS if fixed and not self.exit_zero else 0
        stream = sys.stderr if to_stderr else sys.stdout
        color = use_color(self.color, stream) if not self.output_file else self.color == "always"
        on_terminal = stream.isatty() and not self.output_file
        columns = shutil.get_terminal_size().columns if on_terminal else None
        links = on_terminal and use_links(color, stream)
        report = Report(results, color, self._unsafe, suppressed=self.sarif_suppressed, links=links, columns=columns)
        self._print(self._render(report), to_stderr)
        self._append(report)
        if fixed:
            self._say(f"Fixed {fixed} finding{'s' if fixed != 1 else ''}.")
        if self._format in ("full", "concise") and not self.statistics:
            from lora_lint.report.full import summary

            self._say(summary(report))
        if self.failed:
            return FAILED
        limit = Severity(self.fail_on) if self.fail_on else self._main.fail_on or Severity.WARNING
        bad = any(finding.severity >= limit and not finding.refuted for finding in report.findings) or (self.exit_non_zero_on_fix and fixed)
        return FINDINGS if bad and not self.exit_zero else 0

    def _render(self, report: Report) -> str:
        if self.statistics:
            return statistics.render(report, as_json=self._format == "json")
        return render(report, self._format)

    def _append(self, report: Report) -> None:
        """Write what the format adds to other files; the findings are out already, so that a failure is no more than a warning."""
        for file, text in additions(report, self._format) if not self.statistics else ():
            try:
                with Path(file).open("a", encoding="utf-8", newline="\n") as stream:
                    stream.write(text)
            except OSError as error:
                self._say(f"warning: {file}: cannot write: {error.strerror or error}")

    def _print(self, text: str, to_stderr: bool) -> None:
        if not self.output_file:
            echo(text, err=to_stderr)
            return
        try:
            Path(self.output_file).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        except OSError as error:
            self.complain(f"{self.output_file}: cannot write: {error.strerror or error}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _diff(before: Source, after: Source) -> str:
    """A unified diff; a line without ending is marked as `diff` marks it."""
    old, new = (source.shown(source.text).splitlines(keepends=True) for source in (before, after))
    lines = difflib.unified_diff(old, new, before.path, after.path)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)
