"""Rewrite the generated parts of README.md: the outputs of its commands and the table of the rules.

usage: python scripts/update_readme.py [--check]

A line `<!-- run: lora-lint ARGUMENTS -->` before a code block says by which command the block is made. Commands run beside a copy of
examples/, so that fixes change nothing here; the commands under one heading share a copy, one after the other. Shown are the command, what it
prints without colour, and nothing else. `<!-- rules -->` … `<!-- end of rules -->` holds what `lora-lint rules` lists. --check only says whether
the file is current (exit 1 when it is not).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PART = re.compile(
    r"(?P<heading>^#+ [^\n]*$)"
    r"|(?P<opening>^<!-- run: (?P<command>.+?) -->\n```\w*\n)(?P<output>.*?)(?P<closing>^```$)"
    r"|(?P<before>^<!-- rules -->\n)(?P<table>.*?)(?P<after>^<!-- end of rules -->$)",
    re.MULTILINE | re.DOTALL,
)
FIXES = {"display": "shown only"}


def output(command: str, folder: Path) -> str:
    """What a `lora-lint` command prints in a folder, both streams in the order of a terminal, without colour."""
    program, *arguments = shlex.split(command)
    if program != "lora-lint":
        raise ValueError(f"not a command of this tool: {command}")
    drop = ("FORCE_COLOR", "GITHUB_WORKSPACE", "LORA_LINT_RAISE")
    environment = {key: value for key, value in os.environ.items() if key not in drop}
    environment |= {"NO_COLOR": "1", "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "lora_lint", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    return done.stdout.rstrip("\n") + "\n"


def table() -> str:
    """The rules as a Markdown table."""
    listed = json.loads(output("lora-lint rules --output-format json", ROOT))
    rows = ["| code | name | worst severity | fix | what is wrong |", "|---|---|---|---|---|"]
    for rule in listed:
        fix = FIXES.get(rule["fix"], rule["fix"])
        rows.append(f"| {rule['code']} | `{rule['name']}` | {rule['severity']} | {fix} | {rule['summary']} |")
    return "\n".join(rows) + "\n"


def render(text: str) -> str:
    """The text of the README with its generated parts made anew."""
    with tempfile.TemporaryDirectory() as base:
        copies = 0
        folder: Path | None = None

        def part(found: re.Match[str]) -> str:
            nonlocal copies, folder
            if found["heading"] is not None:
                folder = None
                return found[0]
            if found["before"] is not None:
                return found["before"] + table() + found["after"]
            if folder is None:
                copies += 1
                folder = Path(base) / str(copies)
                shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
                (folder / ".git").mkdir()  # dependency files are looked for up to here
            return f"{found['opening']}$ {found['command']}\n{output(found['command'], folder)}{found['closing']}"

        return PART.sub(part, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    old = README.read_text(encoding="utf-8")
    new = render(old)
    if check:
        print(f"{README.name} is {'current' if new == old else 'stale'}")
        return 0 if new == old else 1
    README.write_text(new, encoding="utf-8", newline="\n")
    print(f"wrote {README}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
