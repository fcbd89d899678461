"""Shows how time and memory grow with the length of a script.

usage: python tests/bench/linear.py [--large] [--shapes NAME ...] [--lines N ...] [--markdown]

Fine-tuning scripts of several shapes and lengths are generated from a fixed seed, and each is linted by `python -m lora_lint` in a process of its
own. Printed are lines, findings, seconds, seconds per 1000 lines, the peak memory of the process in MiB, and for each shape the exponent of its
growth: the slope of log(seconds) over log(lines), where the seconds of a script of one line (the start of Python and of the parser) are taken
off first. 1.0 is linear. Seconds are processor time, so that other work on the machine disturbs little; on Windows they are wall time, and
memory is not measured. `--large` adds 100,000 lines, `--markdown` prints the tables of README.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SEED = 20260101
LINES = (1_000, 5_000, 20_000)
LARGE = 100_000
TIMEOUT_SECONDS = 900
ROOT = Path(__file__).resolve().parents[2]

HEAD = '''"""Generated: {shape}, {lines} lines."""

import argparse
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
{options}
args = parser.parse_args()
tokenizer = AutoTokenizer.from_pretrained("base")
'''
OPTIONS = 12


def straight(rng: random.Random) -> Iterator[list[str]]:
    """One long module without a branch: one model, and tensors, settings and texts made one after the other."""
    yield ['model = AutoModelForCausalLM.from_pretrained("base", device_map="auto")', "x0 = tokenizer('text', return_tensors='pt').to(model.device)"]
    number = 0
    while True:
        number += 1
        before = rng.randrange(max(0, number - 50), number)
        yield [
            rng.choice(
                [
                    f"x{number} = x{before}",
                    f"x{number} = {{'input_ids': x{before}['input_ids'].clone(), 'step': {number}}}",
                    f"x{number} = tokenizer(['row {number}'] * {rng.randrange(2, 9)}, return_tensors='pt').to(model.device)",
                ]
            ),
            rng.choice(
                [
                    f"print(f'step {number}', {rng.random():.4f})",
                    f"text{number} = 'a' * {rng.randrange(100)} + str({number})",
                    f"settings{number} = dict(r={rng.randrange(4, 64)}, alpha={rng.randrange(8, 128)}, name='run-{number}')",
                    f"y{number} = torch.ones({rng.randrange(1, 9)}, 2).mean() * {rng.randrange(1, 9)}",
                ]
            ),
        ]


def nested(rng: random.Random) -> Iterator[list[str]]:
    """Blocks of if, for, with and try, each up to fifteen deep, around what happens to one model."""
    yield ['model = AutoModelForCausalLM.from_pretrained("base")']
    number = 0
    while True:
        number += 1
        lines: list[str] = []
        depth = rng.randrange(5, 16)
        tails: list[str] = []
        for level in range(depth):
            indent = "    " * level
            option = f"args.option{rng.randrange(OPTIONS)}"
            opening = rng.choice([f"if {option}:", f"if not {option}:", f"for i{level} in range({option}):", "with torch.no_grad():", "try:"])
            lines.append(indent + opening)
            if opening == "try:":
                tails.append(f"{indent}except ValueError:\n{indent}    print({number})")
            elif opening.startswith("if") and rng.random() < 0.5:
                tails.append(f"{indent}else:\n{indent}    value{number} = {level}")
        indent = "    " * depth
        lines.append(f"{indent}value{number} = {rng.randrange(1000)}")
        lines.append(indent + rng.choice(["model.train()", "model.eval()", f"print(value{number})", "model.config.use_cache = False"]))
        for tail in reversed(tails):
            lines += tail.split("\n")
        yield lines


def chains(rng: random.Random) -> Iterator[list[str]]:
    """Functions that call each other in chains of twenty, with the model handed from one to the next; a chain is called where it ends."""
    number = 0
    while True:
        length = 20
        lines: list[str] = []
        for step in range(length):
            name = f"chain{number}_{step}"
            lines += ["", "", f"def {name}(model, config, flag={rng.choice(['True', 'False', 'None'])}):"]
            lines += [f"    scale = {rng.randrange(1, 100)} * config.get('scale', 1)", "    if flag:"]
            lines += [f"        config['{name}'] = scale"]
            if step == 0:
                lines += ["    model.requires_grad_(False)", "    return get_peft_model(model, LoraConfig(r=8))"]
            else:
                lines += [f"    model = chain{number}_{step - 1}(model, config, flag=flag)", "    print(scale)", "    return model"]
        lines += ["", "", f'model{number} = chain{number}_{length - 1}(AutoModelForCausalLM.from_pretrained("base-{number}"), {{"scale": {number}}})']
        number += 1
        yield lines


def models(rng: random.Random) -> Iterator[list[str]]:
    """Many models, each loaded, quantized or not, prepared or not, wrapped, and trained by a trainer of its own."""
    number = 0
    while True:
        number += 1
        quantized, prepared, checkpointing = (rng.random() < 0.5 for _ in range(3))
        lines = [f"name{number} = 'base-{number}'"]
        if quantized:
            lines += [
                f"quantization{number} = BitsAndBytesConfig(load_in_4bit=True)",
                f"model{number} = AutoModelForCausalLM.from_pretrained(name{number}, quantization_config=quantization{number})",
            ]
        else:
            lines += [f"model{number} = AutoModelForCausalLM.from_pretrained(name{number})"]
        if prepared:
            guard = rng.choice(["", f"if args.option{rng.randrange(OPTIONS)}:\n    "])
            lines += f"{guard}model{number} = prepare_model_for_kbit_training(model{number})".split("\n")
        lines += [
            f"config{number} = LoraConfig(r={rng.randrange(4, 64)}, target_modules=['q_proj', 'v_proj'])",
            f"model{number} = get_peft_model(model{number}, config{number})",
            f"arguments{number} = TrainingArguments('out-{number}', gradient_checkpointing={checkpointing}, learning_rate={rng.random():.5f})",
            f"trainer{number} = Trainer(model=model{number}, args=arguments{number}, train_dataset=[])",
            f"trainer{number}.train()",
            f"model{number}.save_pretrained('out-{number}')",
        ]
        yield lines


def function(rng: random.Random) -> Iterator[list[str]]:
    """One function as long as the script, with loops and a training step in it."""
    yield ["", "", "def main(args):", "    model = AutoModelForCausalLM.from_pretrained('base')"]
    yield ["    optimizer = torch.optim.AdamW(model.parameters())"]
    number = 0
    while True:
        number += 1
        yield [
            f"    if args.option{rng.randrange(OPTIONS)} == {rng.randrange(3)}:",
            f"        rate{number} = {rng.random():.4f}",
            f"    batch{number} = tokenizer('row {number}', return_tensors='pt').to(model.device)",
            f"    loss{number} = model(**batch{number}).loss * {rng.randrange(1, 9)}",
            f"    loss{number}.backward()",
            "    optimizer.step()",
        ]


def helpers(rng: random.Random) -> Iterator[list[str]]:
    """A handful of helpers that are called again and again, each with another model and another setting."""
    yield [
        "", "", "def load(name, bits=4):", "    return AutoModelForCausalLM.from_pretrained(name, device_map='auto' if bits else None)", "", "",
        "def wrap(model, rank, prepare=False):", "    if prepare:", "        model = prepare_model_for_kbit_training(model)",
        "    return get_peft_model(model, LoraConfig(r=rank))", "", "",
    ]  # fmt: skip
    number = 0
    while True:
        number += 1
        loaded = f"load('base-{number}', {rng.choice([0, 4, 8])})"
        yield [f"model{number} = wrap({loaded}, {rng.randrange(4, 64)}, prepare=args.option{rng.randrange(12)})"]


def doubling(rng: random.Random) -> Iterator[list[str]]:
    """Functions that each call the one before twice: inlined to the end, thirty of them would be a billion calls."""
    number = 0
    while True:
        for step in range(30):
            before = f"double{number}_{step - 1}(double{number}_{step - 1}(model))" if step else "get_peft_model(model, LoraConfig(r=8))"
            yield ["", "", f"def double{number}_{step}(model):", f"    value = {rng.randrange(1000)}", f"    return {before}"]
        yield ["", "", f"wrapped{number} = double{number}_29(AutoModelForCausalLM.from_pretrained('base'))"]
        number += 1


SHAPES: dict[str, Callable[[random.Random], Iterator[list[str]]]] = {
    shape.__name__: shape for shape in (straight, nested, chains, models, function, helpers, doubling)
}


def generate(shape: str, lines: int) -> str:
    """A script of a shape with at least ``lines`` lines; the same text on every run."""
    options = "\n".join(f'parser.add_argument("--option{i}", type=int, default={i % 2})' for i in range(OPTIONS))
    made = HEAD.format(shape=shape, lines=lines, options=options).splitlines()
    for block in SHAPES[shape](random.Random(f"{SEED} {shape}")):
        if len(made) >= lines:
            break
        made += block
    return "\n".join(made) + "\n"


@dataclass(frozen=True)
class Measured:
    """One run: seconds, peak memory in MiB (0 where it is not known), findings; ``failed`` says what went wrong."""

    lines: int
    seconds: float
    memory: float
    findings: int
    failed: str = ""


def measure(file: Path, lines: int) -> Measured:
    """Lint a file in a process of its own."""
    output = file.with_suffix(".json")
    command = [
        sys.executable,
        "-m",
        "lora_lint",
        "check",
        "--isolated",
        "--no-cache",
        "--output-format",
        "json",
        "--output-file",
        str(output),
        str(file),
    ]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=file.parent, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    memory = seconds = 0.0
    failed = ""
    try:
        if hasattr(os, "wait4"):
            status = None
            while status is None:
                pid, code, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    status = os.waitstatus_to_exitcode(code)
                    seconds = usage.ru_utime + usage.ru_stime
                    memory = usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
                elif time.perf_counter() - start > TIMEOUT_SECONDS:
                    raise subprocess.TimeoutExpired(command, TIMEOUT_SECONDS)
                else:
                    time.sleep(0.005)
            process.returncode = status
        else:
            process.wait(TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        failed = f"stopped after {TIMEOUT_SECONDS} s"
    seconds = seconds or time.perf_counter() - start
    if not failed and process.returncode not in (0, 1):
        assert process.stderr is not None
        failed = process.stderr.read().decode("utf-8", errors="replace").strip().splitlines()[-1]
    findings = len(json.loads(output.read_text(encoding="utf-8"))) if output.exists() and not failed else 0
    assert process.stderr is not None
    process.stderr.close()
    return Measured(lines, seconds, memory, findings, failed)


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the least-squares line through the logarithms of the points; nan for fewer than two."""
    if len(points) < 2:
        return math.nan
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / sum((x - middle_x) ** 2 for x in xs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help=f"also {LARGE} lines")
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--lines", nargs="+", type=int, help=f"instead of {' '.join(map(str, LINES))}")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    sizes = sorted(options.lines or [*LINES, *([LARGE] if options.large else [])])
    separator, edge = (" | ", "|") if options.markdown else ("  ", "")
    widths = (9, 8, 8, 9, 11, 8)

    def show(*cells: str) -> None:
        text = separator.join([cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))])
        print(f"{edge} {text} {edge}" if edge else text, flush=True)

    failed = False
    exponents: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.py"
        empty.write_text("import torch\n", encoding="utf-8")
        base = min(measure(empty, 1).seconds for _ in range(5))
        show("shape", "lines", "findings", "seconds", "s/1k lines", "MiB")
        if edge:
            print("|---|--:|--:|--:|--:|--:|")
        for shape in options.shapes:
            points = []
            for size in sizes:
                text = generate(shape, size)
                file = Path(folder) / f"{shape}_{size}.py"
                file.write_text(text, encoding="utf-8", newline="\n")
                lines = text.count("\n")
                done = measure(file, lines)
                failed = failed or bool(done.failed)
                per_thousand = (done.seconds - base) / lines * 1000
                show(
                    shape, str(lines), str(done.findings), f"{done.seconds:.2f}", f"{per_thousand:.3f}", f"{done.memory:.0f}" if done.memory else "-"
                )
                if done.failed:
                    print(f"  {done.failed}")
                elif done.seconds > base:
                    points.append((float(lines), done.seconds - base))
            exponents[shape] = exponent(points)
    print(f"\nstart (a script of one line): {base:.2f} s, taken off in s/1k lines and before fitting")
    for shape, value in exponents.items():
        print(f"{edge and '- '}exponent of {shape}: {value:.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
