"""The command line. Thin: options in, settings and reports out; whatever is heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from lora_lint import __version__
from lora_lint.report import FORMATS

if TYPE_CHECKING:
    from lora_lint.config import Config, Configs, Overrides, Settings
    from lora_lint.discovery import File
    from lora_lint.engine import FileResult
    from lora_lint.source import Source

F = TypeVar("F", bound=Callable[..., Any])

FINDINGS, FAILED = 1, 2
SEVERITIES = ("note", "warning", "error")


class Failure(click.ClickException):
    """An error that ends the run: one line, exit status 2."""

    exit_code = FAILED


class Commands(click.Group):
    """A group in which ``lora-lint PATH...`` means ``lora-lint check PATH...``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h", "--version"):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, prog_name="lora-lint", message="%(prog)s %(version)s")
def cli() -> None:
    """Find what crashes or silently does not train in LLM fine-tuning scripts, before the GPU is paid for.

    `lora-lint PATH...` is short for `lora-lint check PATH...`.
    """


def config_options(command: F) -> F:
    """The options that say which config file holds."""
    command = click.option("--isolated", is_flag=True, help="Ignore all config files.")(command)
    return click.option("--config", type=click.Path(dir_okay=False), help="Use this config file for all files.")(command)


def target_options(command: F) -> F:
    """The options that say on which library versions the script runs."""
    python = click.option(
        "--python", type=click.Path(), metavar="PATH", help="The interpreter or environment that `--target installed` means; implies it."
    )(command)
    return click.option(
        "--target",
        multiple=True,
        metavar="VERSIONS",
        help="Library versions the script runs on, as in transformers==4.44.2 (repeatable); `installed`: those of an environment; `any`: all, "
        "without a look at dependency files.  [default: as dependency files say]",
    )(python)


@cli.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--fix/--no-fix", default=None, help="Apply safe fixes.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="With --fix or --diff: also fixes that may change what the script does.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, as a diff; write nothing.")
@click.option("--select", multiple=True, metavar="RULES", help="Only these rules: codes, names, prefixes (LL1), ALL; comma-separated.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Not these rules.")
@click.option("--extend-select", multiple=True, metavar="RULES", help="These rules, too.")
@target_options
@click.option("--severity", type=click.Choice(SEVERITIES), help="The lowest severity to show.  [default: warning]")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="The lowest severity that makes the exit status 1.  [default: warning]")
@click.option("--output-format", type=click.Choice(tuple(FORMATS)), help="[default: full]")
@click.option("--output-file", type=click.Path(dir_okay=False), help="Write the findings to a file instead of standard output.")
@click.option("--statistics", is_flag=True, help="Show counts per rule instead of the findings.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when there are findings.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 when something was fixed, even if nothing is left.")
@click.option("--add-ignore", metavar="REASON", is_flag=False, flag_value="", help="Silence what is found by comments (`--add-ignore=REASON`).")
@click.option("--baseline", type=click.Path(dir_okay=False), help="Hide the findings that this file counts.")
@click.option("--write-baseline", is_flag=True, help="Count what is found in the baseline (default: lora-lint-baseline.json).")
@click.option("--prune-baseline", is_flag=True, help="Take out of the baseline what is not found any more.")
@config_options
@click.option("--stdin-filename", type=click.Path(), help="The name of what comes on standard input (`-`).")
@click.option("--no-cache", is_flag=True, help="Do not use the cache.")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Exclude files even if they are named.")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", help="Colour the output.  [default: auto]")
def check(paths: tuple[str, ...], **options: Any) -> None:
    """Check files and folders (default: the working folder); `-` reads standard input.

    Exit status: 0 nothing found, 1 findings at or above --fail-on, 2 wrong usage or configuration, or a file that cannot be read or parsed.
    """
    for name in ("select", "ignore", "extend_select"):
        options[name] = _listed(options[name])
    run = Run(**options)
    sys.exit(run.stdin() if "-" in paths else run.files(paths or (".",)))


@dataclass
class Run:
    """One ``check``: the options as given (``None``: not given)."""

    fix: bool | None
    unsafe_fixes: bool | None
    diff: bool
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    extend_select: tuple[str, ...]
    target: tuple[str, ...]
    python: str | None
    severity: str | None
    fail_on: str | None
    output_format: str | None
    output_file: str | None
    statistics: bool
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
    force_exclude: bool | None
    color: str
    failed: bool = False

    def __post_init__(self) -> None:
        from lora_lint.report.terminal import Progress

        self._configs = _configs(self.config, self.isolated)
        main = self._configs.of(Path.cwd())
        self._fix = main.fix if self.fix is None else self.fix
        self._unsafe = main.unsafe_fixes if self.unsafe_fixes is None else self.unsafe_fixes
        self._format = self.output_format or main.output_format or "full"
        self._main = main
        self._progress = Progress(sys.stderr)
        self._settings: dict[int, tuple[Config, Settings]] = {}
        self._settings_of(main)

    def _settings_of(self, config: Config) -> Settings:
        from lora_lint.config import settings

        if id(config) not in self._settings:
            self._settings[id(config)] = (config, settings(config, self._overrides()))
        return self._settings[id(config)][1]

    def _overrides(self) -> Overrides:
        from lora_lint.config import Overrides
        from lora_lint.findings import Severity

        shown = Severity(self.severity) if self.severity else self._main.severity
        failing = Severity(self.fail_on) if self.fail_on else self._main.fail_on
        if failing and failing < (shown or Severity.WARNING):
            shown = failing  # what makes the run fail must be seen
        return Overrides(self.select, self.ignore, self.extend_select, self.target, Path(self.python) if self.python else None, shown)

    def _say(self, line: str) -> None:
        """Print a line on standard error, over what shows the progress."""
        self._progress.clear()
        _stderr(line)

    def complain(self, message: str) -> None:
        """Report what could not be done; the run goes on and ends with status 2."""
        self.failed = True
        self._say(f"error: {message}")

    def files(self, paths: Sequence[str]) -> int:
        """Check files and folders; returns the exit status."""
        from lora_lint.discovery import discover
        from lora_lint.engine import Projects

        projects = Projects()
        results = []
        for file in discover(paths, self._configs, self.complain, force_exclude=self.force_exclude):
            self._progress.step(file.display)
            result = self._one(file, projects)
            if self._fix and not self.diff and result.fixed and not self._write(file.path, result):
                continue
            if self.add_ignore is not None and not self.diff:
                result = self._silence(file, result, self.add_ignore, projects)
            results.append(result)
        if not results and not self.failed:
            self._say("warning: no Python files found under the given paths")
        self._progress.clear()
        return self._finish(self._settle(results))

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
            try:
                file.write_text(baseline.text(), encoding="utf-8", newline="\n")
            except OSError as error:
                self.complain(f"{file}: cannot write: {error.strerror or error}")
                return results
            self._say(f"{file}: {len(baseline)} finding{'s' if len(baseline) != 1 else ''} counted.")
        results, stale = baseline.apply(results)
        for line in stale:
            self.complain(f"{file}: stale: {line}; --prune-baseline takes it out")
        return results

    def _silence(self, file: File, result: FileResult, reason: str, projects: Any) -> FileResult:
        """Write suppression comments for what was found in a file, and check it once more."""
        from dataclasses import replace

        from lora_lint.ignores import add_ignores

        if result.source is None or result.error or not result.findings:
            return result
        text, silenced = add_ignores(result.source, result.findings, reason)
        if not silenced or not self._write(file.path, replace(result, source=result.source.with_text(text))):
            return result
        self._say(f"{result.path}: {len(silenced)} finding{'s' if len(silenced) != 1 else ''} silenced.")
        return self._one(file, projects)

    def _one(self, file: File, projects: Any) -> FileResult:
        from lora_lint.engine import check_file

        fix = self._fix or self.diff
        result = check_file(file.path, file.display, self._settings_of(file.config), projects, fix=fix, unsafe=self._unsafe)
        self._note(result)
        return result

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
        from lora_lint.source import SourceError

        assert result.source is not None
        try:
            write_atomically(path, result.source.encode(result.source.text))
        except (OSError, SourceError) as error:
            reason = error.message if isinstance(error, SourceError) else error.strerror or error
            self.complain(f"{result.path}: cannot write: {reason}")
            return False
        return True

    def stdin(self) -> int:
        """Check standard input; with --fix the cured text goes to standard output and the findings to standard error."""
        from lora_lint.engine import Projects, check_and_fix, check_source, unreadable
        from lora_lint.source import SourceError, source_of

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
        from lora_lint.findings import Severity
        from lora_lint.report import Report
        from lora_lint.report.terminal import use_color, use_links

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
        report = Report(results, color, self._unsafe, links=on_terminal and use_links(color, stream), columns=columns)
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
        bad = any(finding.severity >= limit for finding in report.findings) or (self.exit_non_zero_on_fix and fixed)
        return FINDINGS if bad and not self.exit_zero else 0

    def _render(self, report: Any) -> str:
        if self.statistics:
            from lora_lint.report import statistics

            return statistics.render(report, as_json=self._format == "json")
        from lora_lint.report import render

        return render(report, self._format)

    def _append(self, report: Any) -> None:
        """Write what the format adds to other files; the findings are out already, so that a failure is no more than a warning."""
        from lora_lint.report import additions

        for file, text in additions(report, self._format) if not self.statistics else ():
            try:
                with Path(file).open("a", encoding="utf-8", newline="\n") as stream:
                    stream.write(text)
            except OSError as error:
                self._say(f"warning: {file}: cannot write: {error.strerror or error}")

    def _print(self, text: str, to_stderr: bool) -> None:
        if not self.output_file:
            _echo(text, err=to_stderr)
            return
        try:
            Path(self.output_file).write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            self.complain(f"{self.output_file}: cannot write: {error.strerror or error}")


@cli.command()
def server() -> None:
    """Serve an editor over standard input and output (language server protocol)."""
    try:
        from lora_lint import server as language_server
    except ImportError as error:
        raise Failure(f"the language server needs {error.name}: pip install 'lora-lint[lsp]'") from None
    language_server.start()


@cli.command()
@click.argument("rule")
def explain(rule: str) -> None:
    """Print a rule's page; RULE is a code or a name."""
    from lora_lint import codes, pages

    code = codes.resolve(rule)
    if code is None:
        near = codes.nearest(rule)
        raise Failure(f"unknown rule {rule!r}" + (f"; did you mean {near!r}?" if near else "; `lora-lint rules` lists them"))
    try:
        page = pages.page(code)
    except pages.PageError as error:
        raise Failure(str(error)) from None
    facts = [f"Severity: {page.meta.get('severity', '')}", f"fix: {page.meta.get('fix', 'none')}"]
    if libraries := page.meta.get("libraries"):
        facts.append(f"libraries: {', '.join(libraries)}")
    _echo(f"# {page.code} {page.name}\n\n{page.summary}\n\n{'; '.join(facts)}\n\n{page.text}\n")


@cli.command()
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", help="[default: text]")
def rules(output_format: str) -> None:
    """List all rules."""
    import json

    from lora_lint import codes, pages

    listed = []
    for code, name in codes.names().items():
        try:
            meta, text = pages.page(code).meta, pages.page(code).text
        except pages.PageError:
            meta, text = {}, ""
        listed.append({**meta, "code": code, "name": name, "explanation": text})
    if output_format == "json":
        _echo(json.dumps(listed, indent=2) + "\n")
        return
    width = max(len(entry["name"]) for entry in listed)
    for entry in listed:
        fix = entry.get("fix", "none")
        cells = (entry["code"], entry["name"].ljust(width), str(entry.get("severity", "")).ljust(7), str(fix).ljust(12), entry.get("summary", ""))
        _echo("  ".join(cells).rstrip() + "\n")


@cli.command()
@click.argument("file", type=click.Path())
@target_options
@config_options
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", help="[default: text]")
def target(file: str, target: tuple[str, ...], python: str | None, config: str | None, isolated: bool, output_format: str) -> None:
    """Print the library versions that FILE is checked against, and where they were found (`-` reads standard input)."""
    import json

    from lora_lint.config import Overrides, settings
    from lora_lint.dependencies import Derivation, Detector, show
    from lora_lint.engine import target_of
    from lora_lint.source import Source, SourceError

    try:
        source = Source.from_bytes(sys.stdin.buffer.read(), "-") if file == "-" else Source.read(file)
    except SourceError as error:
        raise Failure(f"{file}: {error.message}") from None
    place = source.file.absolute() if source.file else None
    folder = place.parent if place else Path.cwd()
    in_force = settings(_configs(config, isolated).of(folder), Overrides(target=target, python=Path(python) if python else None))
    detector = Detector()
    found = detector.derive(place, source.original, source.line_name) if in_force.detect else Derivation({}, (), ())
    meant = target_of(source, in_force, detector)
    if output_format == "json":
        _echo(json.dumps(show.to_json(meant, found), indent=2) + "\n")
        return
    _echo(show.render_text(meant, found))
    for problem in found.problems:
        _stderr(f"warning: {problem}")


@cli.command()
@click.argument("file", type=click.Path())
@click.option("--output-format", type=click.Choice(("text", "json", "mermaid", "html")), default="text", help="[default: text]")
def recipe(file: str, output_format: str) -> None:
    """Draw what the tool understood: the life of every model in FILE (`-` reads standard input)."""
    import json

    from lora_lint.project import Project, find_root
    from lora_lint.source import Source, SourceError

    try:
        source = Source.from_bytes(sys.stdin.buffer.read(), "-") if file == "-" else Source.read(file)
        _ = source.module
        from lora_lint import recipe as recipes

        understood = recipes.build(source, Project(find_root(source.file)) if source.file else None)
    except SourceError as error:
        place = f":{error.position.line}:{error.position.column}" if error.position else ""
        raise Failure(f"{file}{place}: {error.message}") from None
    except RecursionError:
        raise Failure(f"{file}: nested too deeply to be analysed") from None
    if output_format == "json":
        _echo(json.dumps(recipes.to_json(understood), indent=2) + "\n")
        return
    draw = {"text": recipes.render_text, "mermaid": recipes.render_mermaid, "html": recipes.render_html}[output_format]
    _echo(draw(understood).rstrip("\n") + "\n")


def _configs(config: str | None, isolated: bool) -> Configs:
    from lora_lint.config import Configs

    return Configs(forced=Path(config) if config else None, isolated=isolated)


def _listed(values: Iterable[str]) -> tuple[str, ...]:
    """The entries of repeated, comma-separated options."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _diff(before: Source, after: Source) -> str:
    """A unified diff; a line without ending is marked as `diff` marks it."""
    import difflib

    old, new = before.text.splitlines(keepends=True), after.text.splitlines(keepends=True)
    lines = difflib.unified_diff(old, new, before.path, after.path)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def _echo(text: str, *, err: bool = False) -> None:
    """Print without a line ending; what the stream cannot encode is written in ASCII. Colour was decided before."""
    from lora_lint.report.terminal import fit

    stream = sys.stderr if err else sys.stdout
    click.echo(fit(text, getattr(stream, "encoding", None)), nl=False, err=err, color=True)


def _stderr(line: str) -> None:
    _echo(line + "\n", err=True)


def main() -> NoReturn:
    """The program: runs a command and turns every error into one line and exit status 2."""
    try:
        sys.exit(cli.main(prog_name="lora-lint", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
    except click.ClickException as error:
        _stderr(f"error: {error.format_message()}")
    except click.Abort:
        sys.exit(130)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader has gone; nothing more can be said, not even at exit.
            sys.stdout = None
            sys.exit(FINDINGS)
        _stderr(f"error: {error}")
    except Exception as error:
        from lora_lint.config import ConfigError

        if isinstance(error, ConfigError):
            _stderr(f"error: {error}")
        elif os.environ.get("LORA_LINT_RAISE"):
            raise
        else:
            _stderr(f"error: internal error, please report it: {type(error).__name__}: {' '.join(str(error).split())}")
    sys.exit(FAILED)


if __name__ == "__main__":
    main()
