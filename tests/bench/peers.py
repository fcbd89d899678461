"""Measures lora-lint beside other linters, on a tree of installed packages; writes RESULTS.md.

    python tests/bench/peers.py                       # all peers; the slow ones on every 20th file, an hour less
    python tests/bench/peers.py --only ruff,flake8    # only these, and lora-lint
    python tests/bench/peers.py --sample 1            # everything on the full tree

The peers come from the package index into a virtual environment of their own. The tree is made of the packages that are installed where this runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PINS = ("ruff==0.17.6", "flake8==7.5.0", "pylint==4.1.4", "fixit==2.2.1", "torchfix==0.7.0")
PACKAGES = ("transformers", "peft", "trl", "accelerate")
SLOW = ("pylint", "fixit", "torchfix")
SCRIPT = '''"""Fine-tunes a model."""

import argparse

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, Trainer, TrainingArguments

'''


@dataclass(frozen=True)
class Cost:
    """What a run took: processor seconds, wall seconds, and the MiB of its largest process."""

    cpu: float
    wall: float
    memory: float


@dataclass(frozen=True)
class Tool:
    """A linter: its command for a number of processes, and how to clear its cache (``None``: it has none)."""

    name: str
    label: str
    command: Callable[[int, Path], list[str]]
    clear: Callable[[], object] | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table; ``share`` is what part of the tree's lines was checked (1: all)."""

    tool: str
    label: str
    state: str
    jobs: int
    cost: Cost
    share: float = 1.0


def measure(command: Sequence[str], cores: int, *, folder: Path, repeat: int = 1) -> Cost:
    """The cheapest of some runs on that many cores."""
    environment = {**os.environ, "RAYON_NUM_THREADS": str(cores), "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": str(ROOT)}
    allowed = sorted(os.sched_getaffinity(0))[:cores] if hasattr(os, "sched_getaffinity") else []
    best: Cost | None = None
    for _ in range(repeat):
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if allowed:
            os.sched_setaffinity(process.pid, allowed)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        if os.waitstatus_to_exitcode(status) not in (0, 1):
            raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        cost = Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / unit)
        best = cost if best is None or cost.cpu < best.cpu else best
    assert best is not None
    return best


def environment(work: Path) -> Path:
    """A virtual environment with the peers; made once."""
    folder = work / "venv"
    done = folder / "pins.txt"
    if not done.is_file() or done.read_text() != "\n".join(PINS):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", *PINS], check=True)
        done.write_text("\n".join(PINS))
    return folder / "bin"


def lay_out(work: Path) -> Path:
    """A plain folder with the Python files of the installed packages."""
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit(f"{name} is not installed for {sys.executable}: the tree is made of {', '.join(PACKAGES)}")
        root = Path(next(iter(spec.submodule_search_locations)))
        for file in root.rglob("*.py"):
            _copy(file, tree / name / file.relative_to(root))
    return tree


def sample(tree: Path, work: Path, every: int) -> Path:
    """Every N-th file of the tree."""
    folder = work / "sample"
    shutil.rmtree(folder, ignore_errors=True)
    for file in sorted(tree.rglob("*.py"))[::every]:
        _copy(file, folder / file.relative_to(tree))
    return folder


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def lines(tree: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in tree.rglob("*.py"))


def script(work: Path) -> Path:
    """A training script of about a hundred lines, most of them what such a script has around its model."""
    text = SCRIPT
    for number in range(10):
        text += f"def metric_{number}(rows):\n    total = 0\n    for row in rows:\n        total += len(row) * {number}\n    return total\n\n\n"
    text += (
        "parser = argparse.ArgumentParser()\nparser.add_argument('--model')\nargs = parser.parse_args()\n"
        "model = AutoModelForCausalLM.from_pretrained(args.model, quantization_config=BitsAndBytesConfig(load_in_4bit=True))\n"
        "tokenizer = AutoTokenizer.from_pretrained(args.model)\nmodel = get_peft_model(model, LoraConfig(task_type='CAUSAL_LM'))\n"
        "trainer = Trainer(model=model, args=TrainingArguments('out', gradient_checkpointing=True), train_dataset=[])\ntrainer.train()\n"
        "torch.save(model.state_dict(), 'model.pt')\nmodel.save_pretrained('out')\n"
    )
    file = work / "script" / "train.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def tools(bin_folder: Path, work: Path) -> list[Tool]:
    """The linters, lora-lint first."""
    own = [sys.executable, "-m", "lora_lint"]
    cache = work / "lora-lint-cache"
    options = subprocess.run(
        [*own, "check", "--help"], capture_output=True, text=True, check=True, cwd=work, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    cached = "--cache-dir" in options.stdout
    parallel = "--jobs" in options.stdout

    def ours(jobs: int, tree: Path) -> list[str]:
        more = ["--cache-dir", str(cache)] if cached else []
        return [*own, "check", "--isolated", *more, *(["-j", str(jobs)] if parallel else []), str(tree)]

    def ruff(jobs: int, tree: Path) -> list[str]:
        return [str(bin_folder / "ruff"), "check", "--isolated", "--cache-dir", str(work / "ruff-cache"), str(tree)]

    def pylint(jobs: int, tree: Path) -> list[str]:
        named = [str(file) for file in sorted(tree.rglob("*.py"))] if tree.is_dir() else [str(tree)]
        listed = work / "pylint.txt"
        listed.write_text("\n".join(named))
        start = "import sys; from pylint.lint import Run; Run([*sys.argv[2:], *open(sys.argv[1]).read().splitlines()])"
        options = [f"--jobs={jobs}", "--exit-zero", "--persistent=n", f"--rcfile={os.devnull}"]
        return [str(bin_folder / "python"), "-c", start, str(listed), *options]

    def clear() -> None:
        shutil.rmtree(cache, ignore_errors=True)

    return [
        Tool("lora-lint", "lora-lint", ours, clear if cached else None),
        Tool("ruff", "ruff", ruff, lambda: shutil.rmtree(work / "ruff-cache", ignore_errors=True)),
        Tool("flake8", "flake8", lambda jobs, tree: [str(bin_folder / "flake8"), "--isolated", "--exit-zero", f"--jobs={jobs}", str(tree)]),
        Tool("pylint", "pylint", pylint),
        Tool("fixit", "Fixit", lambda jobs, tree: [str(bin_folder / "fixit"), "--quiet", "lint", str(tree)]),
        Tool("torchfix", "TorchFix", lambda jobs, tree: [str(bin_folder / "torchfix"), "--select", "ALL", f"--jobs={jobs}", str(tree)]),
    ]


def run(chosen: list[Tool], tree: Path, work: Path, every: int, jobs: Sequence[int], one: Path) -> tuple[list[Row], dict[str, Cost]]:
    """The rows of the table, and what one script costs with each tool."""
    rows: list[Row] = []
    single: dict[str, Cost] = {}
    part = sample(tree, work, every) if every > 1 else tree
    share = lines(part) / lines(tree)
    for tool in chosen:
        if tool.clear:
            tool.clear()
        measure(tool.command(1, one), 1, folder=work)  # so that byte code is there
        if tool.clear:
            tool.clear()
        single[tool.name] = measure(tool.command(1, one), 1, folder=work, repeat=1 if tool.clear else 3)
        slow = tool.name in SLOW and every > 1
        for count in jobs:
            if tool.clear:
                tool.clear()
            cost = measure(tool.command(count, part if slow else tree), count, folder=work)
            if slow:
                start = single[tool.name]
                cost = Cost(start.cpu + (cost.cpu - start.cpu) / share, start.wall + (cost.wall - start.wall) / share, cost.memory)
            rows.append(Row(tool.name, tool.label, "cold", count, cost, share if slow else 1.0))
            print(f"{tool.label}, cold, {count}: {cost.cpu:.2f} s CPU, {cost.wall:.2f} s, {cost.memory:.0f} MiB", flush=True)
            if tool.clear:
                cost = measure(tool.command(count, tree), count, folder=work, repeat=3)
                rows.append(Row(tool.name, tool.label, "warm", count, cost))
                print(f"{tool.label}, warm, {count}: {cost.cpu:.2f} s CPU, {cost.wall:.2f} s, {cost.memory:.0f} MiB", flush=True)
    return rows, single


def processor() -> str:
    """What the machine calls its processor."""
    try:
        named = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    except OSError:
        named = []
    return named[0] if named else platform.processor() or platform.machine()


def times(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def page(rows: list[Row], single: dict[str, Cost], tree: Path, labels: dict[str, str], starts: tuple[Cost, Cost], script_lines: int) -> str:
    """RESULTS.md."""
    packages = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    own = {(row.state, row.jobs): row for row in rows if row.tool == "lora-lint"}
    out = [
        "# lora-lint beside other linters",
        "",
        f"Written by `python tests/bench/peers.py` on {time.strftime('%d %B %Y', time.gmtime()).lstrip('0')}. All numbers are of one run.",
        "",
        f"- Machine: {os.cpu_count()} cores, {processor()}, {platform.system()}, Python {platform.python_version()}.",
        f"- Tree: {packages}; {sum(1 for _ in tree.rglob('*.py')):,} files, {lines(tree):,} lines.",
        f"- Tools: lora-lint {_version('lora-lint')} of this checkout, {', '.join(pin.replace('==', ' ') for pin in PINS)}, each with its "
        f"default rules "
        "(TorchFix with all).",
        "",
        "**The tools do different work.** ruff and flake8 ask many small questions of each file, pylint infers types, Fixit and TorchFix "
        "run visitors over a "
        "concrete syntax tree of every file. lora-lint asks few questions and only of files that use the libraries it knows; most files of "
        "this tree cost it "
        "a search in their bytes. The table says what it costs to run each of them on the same folder, not which one is the better program.",
        "",
        "Processor seconds are those of the tool and its children; each tool was held to as many cores as processes. Memory is that of the "
        "largest process. "
        "A factor says how many times the processor seconds of lora-lint, run cold or warm with as many processes, the tool needs.",
        "",
        "| tool | | processes | CPU s | wall s | MiB | factor |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        base = own.get((row.state, row.jobs)) or own.get(("cold", row.jobs)) or own.get(("cold", 1))
        factor = times(row.cost.cpu / base.cost.cpu) if base and row.tool != "lora-lint" else ""
        mark = "" if row.share == 1 else " *"
        out.append(f"| {row.label}{mark} | {row.state} | {row.jobs} | {row.cost.cpu:.2f} | {row.cost.wall:.2f} | {row.cost.memory:.0f} | {factor} |")
    shares = {row.share for row in rows if row.share != 1}
    if shares:
        out += [
            "",
            f"\\* Measured on a sample of {next(iter(shares)):.1%} of the tree's lines and extrapolated by lines: start + (sample − start) / share, "
            "where start is the time for the one script below. The memory is that of the sample.",
        ]
    out += ["", f"One training script of {script_lines} lines, cold, one process:", "", "| tool | CPU s | wall s | MiB |", "|---|--:|--:|--:|"]
    out += [f"| {labels[name]} | {cost.cpu:.2f} | {cost.wall:.2f} | {cost.memory:.0f} |" for name, cost in single.items()]
    ours, click = starts
    out += [
        "",
        f'`lora-lint --version` takes {ours.cpu:.3f} s, `python -c "import click"` {click.cpu:.3f} s: a factor of {ours.cpu / click.cpu:.2f}.',
        "",
    ]
    return "\n".join(out)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        from lora_lint import __version__

        return __version__ if name == "lora-lint" else ""


def main() -> None:
    names = [pin.partition("==")[0] for pin in PINS]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="PEERS", help=f"of {', '.join(names)}; separated by commas")
    parser.add_argument("--sample", type=int, default=20, metavar="N", help=f"check only every N-th file with {', '.join(SLOW)}  [default: 20]")
    parser.add_argument("--jobs", default="1,2", help="numbers of processes  [default: 1,2]")
    parser.add_argument("--tree", type=Path, help="measure on this folder instead")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "peers", help="where the environment and the tree go  [default: build/peers]")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("RESULTS.md"), help="[default: RESULTS.md beside this file]")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else names
    if unknown := set(wanted) - set(names):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    sys.path.insert(0, str(ROOT))
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    bin_folder = environment(work)
    tree = options.tree.resolve() if options.tree else lay_out(work)
    chosen = [tool for tool in tools(bin_folder, work) if tool.name in ("lora-lint", *wanted)]
    one = script(work)
    jobs = [int(part) for part in options.jobs.split(",")]
    rows, single = run(chosen, tree, work, options.sample, jobs, one)
    own = measure([sys.executable, "-m", "lora_lint", "--version"], 1, folder=work, repeat=7)
    click = measure([sys.executable, "-c", "import click"], 1, folder=work, repeat=7)
    labels = {tool.name: tool.label for tool in chosen}
    options.output.write_text(page(rows, single, tree, labels, (own, click), len(one.read_text().splitlines())), encoding="utf-8")
    print(options.output)


if __name__ == "__main__":
    main()
