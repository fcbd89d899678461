"""The command line. Thin: options in, settings and reports out; whatever is heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from lora_lint import __version__
from lora_lint.report import FORMATS
from lora_lint.report.terminal import complain, echo
from lora_lint.statuses import FAILED, FINDINGS

if TYPE_CHECKING:
    from lora_lint.config import Configs
    from lora_lint.recipe.machine import Recipe
    from lora_lint.source import Source

F = TypeVar("F", bound=Callable[..., Any])

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
@click.option("--preview/--no-preview", default=None, help="Also the rules whose precision is not shown yet (`lora-lint rules` marks them).")
@target_options
@click.option("--severity", type=click.Choice(SEVERITIES), help="The lowest severity to show.  [default: warning]")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="The lowest severity that makes the exit status 1.  [default: warning]")
@click.option("--output-format", type=click.Choice(tuple(FORMATS)), help="[default: full]")
@click.option("--output-file", type=click.Path(dir_okay=False), help="Write the findings to a file instead of standard output.")
@click.option("--statistics", is_flag=True, help="Show counts per rule instead of the findings.")
@click.option("--sarif-suppressed", is_flag=True, help="In sarif: also what comments or the baseline hide, marked as suppressed.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when there are findings.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 when something was fixed, even if nothing is left.")
@click.option("--add-ignore", metavar="REASON", is_flag=False, flag_value="", help="Silence what is found by comments (`--add-ignore=REASON`).")
@click.option("--baseline", type=click.Path(dir_okay=False), help="Hide the findings that this file counts.")
@click.option("--write-baseline", is_flag=True, help="Count what is found in the baseline (default: lora-lint-baseline.json).")
@click.option("--prune-baseline", is_flag=True, help="Take out of the baseline what is not found any more.")
@click.option("--verify", is_flag=True, help="EXECUTE the script up to its first optimizer step, on small stand-ins, to confirm or refute findings.")
@click.option("--verify-device", type=click.Choice(("auto", "cuda", "virtual", "cpu")), help="What the step runs on.  [default: auto]")
@click.option("--verify-timeout", type=click.FloatRange(min=1), metavar="SECONDS", help="When a run is ended.  [default: 180]")
@click.option("--verify-args", metavar="TEXT", help="The script's own command line, as in \"--model gpt2 --epochs 1\".")
@click.option("--verify-python", type=click.Path(), metavar="PATH", help="The interpreter of the training environment.  [default: found]")
@config_options
@click.option("--stdin-filename", type=click.Path(), help="The name of what comes on standard input (`-`).")
@click.option("--no-cache", is_flag=True, help="Read no results of earlier runs, and keep none.")
@click.option("--cache-dir", type=click.Path(file_okay=False), metavar="PATH", help="Where results are kept.  [default: .lora_lint_cache]")
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="At most so many processes.  [default: one a processor]")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Exclude files even if they are named.")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", help="Colour the output.  [default: auto]")
def check(paths: tuple[str, ...], **options: Any) -> None:
    """Check files and folders (default: the working folder); `-` reads standard input.

    Exit status: 0 nothing found, 1 findings at or above --fail-on, 2 wrong usage or configuration, or a file that cannot be read or parsed.
    """
    for name in ("select", "ignore", "extend_select"):
        options[name] = _listed(options[name])
    from lora_lint.check import Check, UsageError
    from lora_lint.verify import VerifyError

    try:
        run = Check(**options)
        sys.exit(run.stdin() if "-" in paths else run.files(paths or (".",)))
    except (UsageError, VerifyError) as error:
        raise Failure(str(error)) from None


@cli.command()
@click.option("--pr", metavar="PULL_REQUEST", help="NUMBER, OWNER/NAME#NUMBER, GROUP/NAME!NUMBER or an address.  [default: that of the CI run]")
@click.option("--write", type=click.Path(dir_okay=False), metavar="FILE", help="Leave a report for a run that may comment; comment nothing.")
@click.option("--post", type=click.Path(dir_okay=False), metavar="FILE", help="Comment what such a report says; trust nothing in it.")
@click.option("--max-comments", type=click.IntRange(1, 100), default=25, show_default=True, help="Further findings go to one summary.")
@click.option("--dry-run", is_flag=True, help="Print the comments; write nothing.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when there are findings.")
def review(**options: Any) -> None:
    """Comment on a pull request (GitHub) or merge request (GitLab) what it introduces.

    It reads GITHUB_TOKEN or GITLAB_TOKEN. Base and head are fetched and read, never run; the configuration is that of the base.
    """
    if options["write"] and options["post"]:
        raise Failure("--write and --post are the two halves of one review: use one at a time")
    try:
        from lora_lint.review.run import Options
        from lora_lint.review.run import review as run
    except ImportError as error:
        raise Failure(f"the review needs {error.name}: pip install 'lora-lint[review]'") from None
    sys.exit(run(Options(**options)))


@cli.command()
def server() -> None:
    """Serve an editor over standard input and output (language server protocol)."""
    try:
        from lora_lint import server as language_server
    except ImportError as error:
        raise Failure(f"the language server needs {error.name}: pip install 'lora-lint[lsp]'") from None
    language_server.start()


@cli.command()
@click.option("--cache-dir", type=click.Path(file_okay=False), metavar="PATH", help="The cache to remove.  [default: .lora_lint_cache]")
@config_options
def clean(cache_dir: str | None, config: str | None, isolated: bool) -> None:
    """Remove the results that earlier runs kept."""
    from pathlib import Path

    from lora_lint import cache

    folder = cache.folder_of(cache_dir, _configs(config, isolated).of(Path.cwd()).root)
    try:
        count = cache.clean(folder)
    except ValueError as error:
        raise Failure(str(error)) from None
    complain(f"{folder}: removed" if count else f"{folder}: nothing to remove")


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
    echo(f"# {page.code} {page.name}\n\n{page.summary}\n\n{'; '.join(facts)}\n\n{page.text}\n")


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
        echo(json.dumps(listed, indent=2) + "\n")
        return
    width = max(len(entry["name"]) for entry in listed)
    for entry in listed:
        fix = entry.get("fix", "none")
        kind = str(fix) + (" preview" if entry.get("stage") == "P" else "")
        cells = (entry["code"], entry["name"].ljust(width), str(entry.get("severity", "")).ljust(7), kind.ljust(15), entry.get("summary", ""))
        echo("  ".join(cells).rstrip() + _measured(entry.get("corpus")) + "\n")


def _measured(corpus: dict[str, Any] | None) -> str:
    """What a rule was found to be worth on real scripts."""
    if corpus is None:
        return ""
    return f" [{corpus['findings']} on real scripts: {corpus['right']} right, {corpus['wrong']} wrong; {corpus['date']}]"


@cli.command()
@click.argument("file", type=click.Path())
@target_options
@config_options
@click.option("--infer", is_flag=True, help="Print the versions that FILE can run on at all, by its imports and keywords.")
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", help="[default: text]")
def target(file: str, target: tuple[str, ...], python: str | None, config: str | None, isolated: bool, infer: bool, output_format: str) -> None:
    """Print the library versions that FILE is checked against, and where they were found (`-` reads standard input)."""
    import json
    from pathlib import Path

    from lora_lint.config import Overrides, settings
    from lora_lint.dependencies import Derivation, Detector, show
    from lora_lint.engine import target_of
    from lora_lint.source import Source, SourceError

    try:
        source = Source.from_bytes(sys.stdin.buffer.read(), "-") if file == "-" else Source.read(file)
    except SourceError as error:
        raise Failure(f"{file}: {error.message}") from None
    if infer:
        _infer(file, source, output_format)
        return
    place = source.file.absolute() if source.file else None
    folder = place.parent if place else Path.cwd()
    in_force = settings(_configs(config, isolated).of(folder), Overrides(target=target, python=Path(python) if python else None))
    detector = Detector()
    found = detector.derive(place, source.original, source.line_name) if in_force.detect else Derivation({}, (), ())
    meant = target_of(source, in_force, detector)
    if output_format == "json":
        echo(json.dumps(show.to_json(meant, found), indent=2) + "\n")
        return
    echo(show.render_text(meant, found))
    for problem in found.problems:
        complain(f"warning: {problem}")


def _infer(file: str, source: Source, output_format: str) -> None:
    import json

    from lora_lint.api import infer

    found = infer.infer(_understood(file, source))
    echo(json.dumps(infer.to_json(found), indent=2) + "\n" if output_format == "json" else infer.render(found))


@cli.command("upgrade-report")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--to", multiple=True, required=True, metavar="VERSIONS", help="The versions to move to, as in transformers==5.23.0 (repeatable).")
@config_options
@click.option("--output-format", type=click.Choice(tuple(FORMATS)), default="full", help="[default: full]")
def upgrade_report(paths: tuple[str, ...], to: tuple[str, ...], config: str | None, isolated: bool, output_format: str) -> None:
    """Print what breaks in files and folders (default: the working folder) when their libraries move to other versions.

    Exit status: 0 nothing breaks, 1 something does, 2 wrong usage, or a file that cannot be read or parsed.
    """
    from lora_lint.target import TargetError
    from lora_lint.upgrade import upgrade

    try:
        sys.exit(upgrade(paths or (".",), to, _configs(config, isolated), output_format))
    except TargetError as error:
        raise Failure(str(error)) from None


@cli.command()
@click.argument("file", type=click.Path())
@click.option("--output-format", type=click.Choice(("text", "json", "mermaid", "html")), default="text", help="[default: text]")
def recipe(file: str, output_format: str) -> None:
    """Draw what the tool understood: the life of every model in FILE (`-` reads standard input)."""
    import json

    from lora_lint import recipe as recipes
    from lora_lint.source import Source, SourceError

    try:
        source = Source.from_bytes(sys.stdin.buffer.read(), "-") if file == "-" else Source.read(file)
    except SourceError as error:
        raise Failure(f"{file}: {error.message}") from None
    understood = _understood(file, source)
    if output_format == "json":
        echo(json.dumps(recipes.to_json(understood), indent=2) + "\n")
        return
    draw = {"text": recipes.render_text, "mermaid": recipes.render_mermaid, "html": recipes.render_html}[output_format]
    echo(draw(understood).rstrip("\n") + "\n")


def _understood(file: str, source: Source) -> Recipe:
    """The recipe of a file; what is wrong with the file is one clear line."""
    from lora_lint import recipe as recipes
    from lora_lint.project import Project, find_root
    from lora_lint.source import SourceError

    try:
        _ = source.module
        return recipes.build(source, Project(find_root(source.file)) if source.file else None)
    except SourceError as error:
        place = f":{error.position.line}:{error.position.column}" if error.position else ""
        raise Failure(f"{file}{place}: {error.message}") from None
    except RecursionError:
        raise Failure(f"{file}: nested too deeply to be analysed") from None


def _configs(config: str | None, isolated: bool) -> Configs:
    from pathlib import Path

    from lora_lint.config import Configs

    return Configs(forced=Path(config) if config else None, isolated=isolated)


def _listed(values: Iterable[str]) -> tuple[str, ...]:
    """The entries of repeated, comma-separated options."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def main() -> NoReturn:
    """The program: runs a command and turns every error into one line and exit status 2."""
    try:
        sys.exit(cli.main(prog_name="lora-lint", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
    except click.ClickException as error:
        complain(f"error: {error.format_message()}")
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader has gone; nothing more can be said, not even at exit.
            sys.stdout = None
            sys.exit(FINDINGS)
        complain(f"error: {error}")
    except Exception as error:
        from lora_lint.config import ConfigError

        if isinstance(error, ConfigError):
            complain(f"error: {error}")
        elif os.environ.get("LORA_LINT_RAISE"):
            raise
        else:
            complain(f"error: internal error, please report it: {type(error).__name__}: {' '.join(str(error).split())}")
    sys.exit(FAILED)


if __name__ == "__main__":
    main()
