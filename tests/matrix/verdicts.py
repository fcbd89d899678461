"""What `--verify` says of the rules' own examples, on the libraries of an era: README.md beside it says how it is used."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click

from lora_lint import codes
from lora_lint.config import Config, Overrides, settings
from lora_lint.engine import Projects, check_file
from lora_lint.verify import VerifyError
from lora_lint.verify.session import Request, Session
from matrix import base_python, environment, eras

RULES = Path(__file__).resolve().parents[2] / "rules"


@dataclass(frozen=True)
class Example:
    """A faulty example and, where there is a fix, the same with the fix applied."""

    faulty: Path
    fixed: Path | None

    @property
    def code(self) -> str:
        return self.faulty.parents[1].name[:5]


@dataclass(frozen=True)
class Run:
    """What a run says: the verdict on the rule's own finding (empty: there is none), the evidence, and how the run ended."""

    verdict: str
    evidence: str
    end: str


def examples(only: tuple[str, ...]) -> Iterator[Example]:
    """The faulty examples of the rules, in order."""
    for faulty in sorted(RULES.glob("LL[1-7]*/bad/*.py")):
        if not faulty.name.endswith(".fixed.py") and (not only or faulty.parents[1].name[:5] in only):
            fixed = faulty.with_name(faulty.name.replace(".py", ".fixed.py"))
            yield Example(faulty, fixed if fixed.exists() else None)


def run(file: Path, code: str, python: Path, device: str) -> Run:
    """Lint a file for all releases and run it."""
    lines: list[str] = []
    session = Session(Request(device=device, python=python), lines.append)
    projects = Projects()
    result = check_file(file, file.name, settings(Config(file.parent), Overrides(target=("any",))), projects)
    if result.source is None:
        return Run("", "", "cannot be read")
    try:
        judged = session.verify(result.source, result.findings, projects.of(file), frozenset(codes.names()))
    except VerifyError as error:
        return Run("", "", str(error))
    own = [finding.verification for finding in judged if finding.code == code and finding.verification]
    end = re.sub(r"^[^:]*: |, in [\d.]+ s.*$", "", lines[1]) if len(lines) > 1 else ""
    if not own:
        return Run("", next((f"LL800 {finding.message}" for finding in judged if finding.code == "LL800"), ""), end)
    order = ("confirmed", "refuted", "needs", "not reached")
    best = min(own, key=lambda made: order.index(made.verdict.value))
    return Run(best.verdict.value, best.evidence, end)


@click.command(help=__doc__)
@click.option("--era", help="The era's release of transformers; the libraries of this interpreter where not given.")
@click.option("--python", type=click.Path(path_type=Path), default=Path(sys.executable), help="The interpreter, where no era is given.")
@click.option("--rule", "only", multiple=True, help="The rule's code; all rules where not given.")
@click.option("--jobs", default=1, show_default=True, help="Runs at a time.")
@click.option("--device", default="virtual", show_default=True)
def main(era: str | None, python: Path, only: tuple[str, ...], jobs: int, device: str) -> None:
    if era is not None:
        chosen = [one for one in eras() if one["transformers"] == era]
        if not chosen:
            raise click.ClickException(f"no era {era}; eras are {', '.join(one['transformers'] for one in eras())}")
        os.environ["PYTHONPATH"] = os.pathsep.join(map(str, environment(chosen[0])))
        python = base_python()

    def both(example: Example) -> tuple[Run, Run | None]:
        return run(example.faulty, example.code, python, device), run(example.fixed, example.code, python, device) if example.fixed else None

    click.echo("| rule | example | faulty | what was seen | fixed |\n|---|---|---|---|---|")
    with ThreadPoolExecutor(jobs) as pool:
        every = list(examples(only))
        for example, (faulty, fixed) in zip(every, pool.map(both, every), strict=True):
            after = "" if fixed is None else (fixed.verdict or "no finding") + f", {fixed.end}"
            seen = faulty.evidence or faulty.end
            cells = (example.code, example.faulty.stem, faulty.verdict or "no finding", seen, after)
            click.echo("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ")[:160] for cell in cells) + " |")


if __name__ == "__main__":
    main()
