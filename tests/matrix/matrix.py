"""Measures the facts: runs the scenarios on many releases of the libraries. README.md beside it says how it is used."""

from __future__ import annotations

import csv
import datetime
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from lora_lint import _toml
from lora_lint.target import LIBRARIES, releases
from lora_lint.versions import Fact, facts

HERE = Path(__file__).resolve().parent
SCENARIOS = HERE / "scenarios"
RESULTS = HERE / "results.tsv"
MARKS = {"true": "yes", "false": "no", "null": "–"}

_installing = threading.Lock()

Versions = Mapping[str, str]
"""For each library of ``LIBRARIES`` (torch may be missing: the base has it) its version."""


@dataclass(frozen=True)
class Row:
    """A measurement. ``outcome`` is true, false or null; ``message`` is the exception's first line, for null why it could not be asked."""

    fact: str
    outcome: str
    how: str
    message: str
    transformers: str
    peft: str
    trl: str
    accelerate: str
    bitsandbytes: str
    torch: str
    python: str
    device: str
    date: str

    @property
    def key(self) -> tuple[str, ...]:
        """What was measured, on what."""
        return (self.fact, *(getattr(self, library) for library in LIBRARIES), self.python, self.device)

    def version(self, library: str) -> Version:
        """The release of a library that it was measured on."""
        return Version(Version(getattr(self, library)).public)


@dataclass(frozen=True)
class Answer:
    """A scenario's row, what it said to explain it, and whether it broke instead of answering."""

    row: Row
    why: str
    broken: bool


def read_rows() -> list[Row]:
    """All measured rows. Raises ``TypeError`` or ``KeyError`` where the file is malformed."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as stream:
        return [Row(**row) for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)]


def render(rows: Iterable[Row]) -> str:
    """The text of the results with these rows; of several for the same versions, the last."""
    merged = {row.key: row for row in rows}

    def order(row: Row) -> tuple[Any, ...]:
        return (row.fact, *(row.version(library) for library in LIBRARIES), row.key)

    lines = ["\t".join(field.name for field in fields(Row))]
    lines += ["\t".join(re.sub(r"\s", " ", text) for text in astuple(row)) for row in sorted(merged.values(), key=order)]
    return "\n".join(lines) + "\n"


def record(rows: Iterable[Row]) -> None:
    """Add rows to the results; a new row takes the place of an old one for the same versions."""
    RESULTS.write_text(render((*read_rows(), *rows)), encoding="utf-8", newline="\n")


@lru_cache(maxsize=1)
def _settings() -> Mapping[str, Any]:
    return _toml.loads((HERE / "eras.toml").read_text(encoding="utf-8"))


def eras() -> list[Versions]:
    """The eras, oldest first. The name of an era is its release of transformers."""
    return list(_settings()["era"])


def scenario(fact: str) -> Path:
    """The scenario that measures a fact, or a sentence that is no fact yet. Raises ``click.ClickException`` where there is none."""
    for folder in (SCENARIOS, SCENARIOS / "candidates"):
        if (path := folder / f"{fact}.py").is_file():
            return path
    raise click.ClickException(f"no scenario {fact}.py in {SCENARIOS}")


# ---- environments ---------------------------------------------------------------------------------------------------------------------------------


def cache() -> Path:
    """The folder of the environments."""
    return Path(os.environ.get("LORA_LINT_MATRIX") or Path.home() / ".cache" / "lora-lint-matrix")


def base_python() -> Path:
    """The interpreter of the base environment, which is made where it is missing. Raises ``click.ClickException`` where that fails."""
    base = cache() / "base"
    python = base / "bin" / "python"
    with _installing:
        if not (base / "complete").exists():
            own = next((found for name in ("python3.11", "python3.10") if (found := shutil.which(name))), sys.executable)
            try:
                cache().mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise click.ClickException(f"no folder {cache()}: {error.strerror}; name another one in LORA_LINT_MATRIX") from None
            _call("making the base environment", [own, "-m", "venv", "--clear", str(base)])
            _call("filling the base environment", [str(python), "-m", "pip", "install", "--quiet", *_settings()["base"]])
            (base / "complete").touch()
    return python


def _call(what: str, command: Sequence[str]) -> None:
    """Run a command. Raises ``click.ClickException`` with ``what`` and the last error where it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()[-1:] or ["no message"]
        raise click.ClickException(f"{what}: {last[-1].removeprefix('ERROR: ')}")


def overlay(*requirements: str) -> Path:
    """A folder with these packages and nothing that they depend on, which is made where it is missing."""
    folder = cache() / "libraries" / "+".join(re.sub(r"[^\w.]+", "-", text) for text in requirements)
    python = base_python()
    with _installing:
        if not folder.exists():
            folder.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
                target = Path(unfinished) / "target"
                pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
                _call(f"installing {' '.join(requirements)}", [*pip, *requirements])
                target.rename(folder)
    return folder


def environment(versions: Versions) -> list[Path]:
    """The folders to put before the base environment, so that it has these versions; first comes first.

    The releases of tokenizers and huggingface-hub are those that the wheel of transformers asks for; that of datasets goes with huggingface-hub.
    """
    folders = [overlay(f"{library}=={version}") for library, version in versions.items() if library != "torch"]
    wanted = {requirement.name.replace("_", "-"): requirement for requirement in _requires(folders[list(versions).index("transformers")])}
    tokenizers, hub = (overlay(f"{name}{wanted[name].specifier}") for name in ("tokenizers", "huggingface-hub"))
    folders += [tokenizers, hub]
    installed = next(iter(importlib.metadata.distributions(path=[str(hub)]))).version
    for row in _settings()["datasets"]:
        if installed in SpecifierSet(row["hub"]):
            folders.append(overlay(*row["install"]))
            break
    return folders


def _requires(folder: Path) -> Iterator[Requirement]:
    """What the one package in a folder requires without any extra."""
    for distribution in importlib.metadata.distributions(path=[str(folder)]):
        for text in distribution.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                yield requirement


def ask(python: Path, folders: Sequence[Path], names: Sequence[str]) -> list[Answer]:
    """Run scenarios in one process. Raises ``click.ClickException`` where it answers nothing at all."""
    with tempfile.TemporaryDirectory() as temporary:
        variables = {**os.environ, "TMPDIR": temporary, "OMP_NUM_THREADS": "1"}
        if folders:
            variables["PYTHONPATH"] = os.pathsep.join(map(str, folders))
        command = [str(python), str(HERE / "worker.py"), *(str(scenario(name)) for name in names)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=variables, cwd=temporary)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if len(lines) != len(names) + 1:
        raise click.ClickException(f"the worker stopped early: {(done.stderr.splitlines() or ['no message'])[-1]}")
    today = datetime.date.today().isoformat()
    answers = []
    for one in lines[1:]:
        outcome = json.dumps(one["holds"])
        row = Row(one["fact"], outcome, one["how"], one["message"] or (one["why"] if outcome == "null" else ""), device="cpu", date=today, **lines[0])
        answers.append(Answer(row, one["why"], one.get("broken", False)))
    return answers


def measure(versions: Versions, names: Sequence[str]) -> list[Answer]:
    """Run scenarios on these versions."""
    return ask(base_python(), environment(versions), names)


# ---- the bounds of a fact -------------------------------------------------------------------------------------------------------------------------


def known(fact: Fact, library: str, rows: Iterable[Row]) -> dict[Version, bool]:
    """On which releases of a library a fact was found true and false, with its other libraries inside their ranges."""
    others = [one for one in fact.ranges if one != library]
    asked = [row for row in rows if row.fact == fact.name and row.outcome != "null"]
    return {row.version(library): row.outcome == "true" for row in asked if all(fact.part(one, row.version(one)) for one in others)}


def beside_bounds(fact: Fact, library: str) -> list[tuple[Version, Version]]:
    """For each bound of a fact's range, the releases on its two sides. A bound at the edge of the supported releases has one side and is left out."""
    every = releases(library)
    return [(a, b) for a, b in pairwise(every) if fact.part(library, a) != fact.part(library, b)]


def next_release(fact: Fact, library: str, answers: Mapping[Version, bool], silent: set[Version]) -> Version | None:
    """The release to measure next: one beside a stated bound, else the middle between two neighbours that answer differently."""
    stated = [version for pair in beside_bounds(fact, library) for version in pair]
    for version in stated:
        if version not in answers and version not in silent:
            return version
    measured = sorted(answers)
    for a, b in pairwise(measured):
        between = [version for version in releases(library) if a < version < b and version not in silent]
        if answers[a] != answers[b] and between:
            return between[len(between) // 2]
    return None


def partners(fact: Fact, library: str, version: Version) -> list[Versions]:
    """Versions that go with a release of one library: those of the nearest eras, an older one first, with the fact's other ranges kept."""
    older = [era for era in eras() if Version(era[library]) <= version]
    newer = [era for era in eras() if Version(era[library]) > version]
    found: list[Versions] = []
    for era in [*older[-1:], *newer[:1], *older[-2:-1]]:
        chosen = {**era, library: str(version)}
        for other in fact.ranges:
            if other not in (library, "torch") and not fact.part(other, Version(chosen[other])):
                inside = [one for one in releases(other) if fact.part(other, one)]
                chosen[other] = str(inside[0] if Version(chosen[other]) < inside[0] else inside[-1])
        found.append(chosen)
    return found


def bisect_on(fact: Fact, library: str) -> None:
    """Measure releases of one library until neighbours are known wherever the answer changes, and beside every stated bound."""
    silent: set[Version] = set()
    while (version := next_release(fact, library, known(fact, library, read_rows()), silent)) is not None:
        answer = None
        for chosen in partners(fact, library, version):
            try:
                answer = measure(chosen, [fact.name])[0]
            except click.ClickException as error:
                click.echo(f"  {library} {version}: {error.message}", err=True)
                continue
            if answer.row.outcome != "null":
                break
        if answer is None or answer.row.outcome == "null":
            silent.add(version)
            click.echo(f"  {library} {version}: cannot be asked ({answer.why if answer else 'not installed'})")
            continue
        record([answer.row])
        beside = ", ".join(f"{one} {getattr(answer.row, one)}" for one in LIBRARIES if one not in (library, "torch"))
        click.echo(f"  {library} {version}: {MARKS[answer.row.outcome]} ({beside})")
    measured = known(fact, library, read_rows())
    order = sorted(measured)
    said = {version: f"{version} {MARKS[json.dumps(holds)]}" for version, holds in measured.items()}
    changes = [f"{said[a]}, {said[b]}" for a, b in pairwise(order) if measured[a] != measured[b]]
    ends = f"{order[0]} to {order[-1]}" if order else "no release"
    click.echo(f"{fact.name} on {library}, measured on {len(order)} releases, {ends}: " + ("; ".join(changes) or "the answer never changes"))


# ---- the program ----------------------------------------------------------------------------------------------------------------------------------


def table(rows: Iterable[Row], names: Iterable[str], chosen: Sequence[Versions]) -> str:
    """Facts by eras, in Markdown; an empty cell was not measured."""
    pinned = LIBRARIES[:-1]
    measured = {(row.fact, *(getattr(row, library) for library in pinned)): row.outcome for row in rows}
    lines = ["| fact | " + " | ".join(era["transformers"] for era in chosen) + " |", "|---" * (len(chosen) + 1) + "|"]
    for name in names:
        outcomes = [measured.get((name, *(era[library] for library in pinned))) for era in chosen]
        lines.append(f"| {name} | " + " | ".join(MARKS[outcome] if outcome else "" for outcome in outcomes) + " |")
    return "\n".join(lines)


def surprises(answers: Iterable[Answer], texts: Mapping[str, Sequence[str]]) -> list[str]:
    """What contradicts the facts, a line each. ``texts`` are the messages that are known for a fact, as ``known_texts`` gives them."""
    lines = []
    for answer in answers:
        row = answer.row
        fact = facts()[row.fact]
        stated = fact.on({library: row.version(library) for library in fact.ranges})
        if answer.broken:
            lines.append(f"{row.fact}: the scenario breaks: {answer.why}")
        elif row.outcome == "null" and stated:
            lines.append(f"{row.fact}: stated to hold, but cannot be asked: {answer.why}")
        elif row.outcome != "null" and (row.outcome == "true") != stated:
            lines.append(f"{row.fact}: stated to be {MARKS[json.dumps(stated)]}, but it is {MARKS[row.outcome]}: {row.message or answer.why}")
        elif row.outcome == "true" and not any(same_text(text, row.message) for text in texts[row.fact]):
            lines.append(f"{row.fact}: the message is new: {row.message}")
    return lines


def known_texts() -> dict[str, list[str]]:
    """For each fact its message, and those that other releases give it (other_texts.toml)."""
    others = _toml.loads((HERE / "other_texts.toml").read_text(encoding="utf-8"))
    return {name: [fact.message, *others.get(name, ())] for name, fact in facts().items()}


def same_text(template: str, message: str) -> bool:
    """Whether a message is a template's, whose ``{placeholders}`` stand for anything. An empty template takes no message but the empty one."""
    pattern = "".join("(.+)" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{\w+\})", template))
    return re.fullmatch(pattern, message) is not None


def pins(texts: Iterable[str]) -> dict[str, str]:
    """The versions that ``LIBRARY==VERSION`` texts name. Raises ``click.ClickException`` for any other text."""
    found = {}
    for text in texts:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            requirement = Requirement("malformed")
        exact = [one.version for one in requirement.specifier if one.operator == "=="]
        if requirement.name not in LIBRARIES[:-1] or len(exact) != 1:
            raise click.ClickException(f"{text!r}: write it as LIBRARY==VERSION, with one of {', '.join(LIBRARIES[:-1])}")
        found[requirement.name] = exact[0]
    return found


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command()
@click.option("--era", "only", multiple=True, help="The era's release of transformers; all eras where not given.")
@click.option("--fact", "names", multiple=True, help="The fact's name; all facts where not given.")
@click.option("--with", "changes", multiple=True, metavar="LIBRARY==VERSION", help="A release that takes the place of the eras' own.")
@click.option("--jobs", default=1, show_default=True, help="Eras at a time.")
def run(only: tuple[str, ...], names: tuple[str, ...], changes: tuple[str, ...], jobs: int) -> None:
    """Run the scenarios in the eras, record the answers, print the table."""
    chosen = [{**era, **pins(changes)} for era in eras() if not only or era["transformers"] in only]
    if unknown := set(only) - {era["transformers"] for era in eras()}:
        raise click.ClickException(f"no era {', '.join(sorted(unknown))}; eras are {', '.join(era['transformers'] for era in eras())}")
    asked = names or sorted(facts())
    wrong = False
    with ThreadPoolExecutor(jobs) as pool:
        for era, answers in zip(chosen, pool.map(lambda era: measure(era, asked), chosen), strict=True):
            record(answer.row for answer in answers if not answer.broken)
            wrong |= any(answer.broken for answer in answers)
            counts = ", ".join(f"{sum(a.row.outcome == outcome for a in answers)} {mark}" for outcome, mark in MARKS.items())
            click.echo(f"{era['transformers']}: {counts}")
            for answer in answers:
                if answer.broken:
                    click.echo(f"  {answer.row.fact}: the scenario breaks: {answer.why}")
    click.echo("\n" + table(read_rows(), asked, chosen))
    sys.exit(wrong)


@main.command()
@click.argument("name", metavar="FACT")
@click.option("--library", type=click.Choice(LIBRARIES[:-1]), help="Search over its releases only; needed for a sentence that is no fact yet.")
def bisect(name: str, library: str | None) -> None:
    """Find the exact releases at which a fact begins or ends, by installing the releases in between."""
    scenario(name)
    fact = facts().get(name)
    if fact is None:
        if library is None:
            raise click.ClickException(f"{name} is no fact yet: say over which releases to search with --library")
        fact = Fact(name, {library: SpecifierSet()}, says="", message="", measured="", source="")
    for one in [library] if library else [one for one in fact.ranges if one != "torch"]:
        bisect_on(fact, one)


@main.command()
@click.argument("requirements", metavar="LIBRARY==VERSION", nargs=-1, required=True)
def judge(requirements: tuple[str, ...]) -> None:
    """Ask whether the facts still stand on new releases: the newest era with these. The exit status is 1 where something changed."""
    versions = {**eras()[-1], **pins(requirements)}
    answers = measure(versions, sorted(facts()))
    changed = surprises(answers, known_texts())
    click.echo("on " + ", ".join(f"{library} {version}" for library, version in versions.items()))
    silent = sum(answer.row.outcome == "null" for answer in answers)
    click.echo("\n".join(changed) or f"nothing changed: {len(answers)} facts, {silent} of them cannot be asked there")
    sys.exit(bool(changed))


@main.command("table")
def print_table() -> None:
    """Print facts by eras in Markdown."""
    click.echo(table(read_rows(), sorted(facts()), eras()))


if __name__ == "__main__":
    main()
