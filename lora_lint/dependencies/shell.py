"""``pip install`` commands: in notebooks and scripts exported from them, and in Dockerfiles."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lora_lint.dependencies.entries import Entry, Reading, parse
from lora_lint.dependencies.requirements import include_file

_INSTALL = re.compile(
    r"(?:^|[\s;&|('\"])[!%]*(?:sudo\s+(?:-\S+\s+)*)?(?:(?:[\w./{}]*python[\d.]*|\{sys\.executable\})\s+-m\s+)?"
    r"(?:uv\s+)?pip[\d.]*\s+(?:-\S+\s+)*install\s+"
    r"(?P<arguments>[^;&|\n]*)"
)
_VALUED = frozenset(
    "-i --index-url --extra-index-url -f --find-links -t --target --prefix --root --python -p --timeout --retries --progress-bar --torch-backend "
    "--index-strategy --no-binary --only-binary --platform --abi --upgrade-strategy --src --cache-dir --proxy --trusted-host".split()
)
_FILES = ("-r", "--requirement", "-c", "--constraint")
# What a notebook's cell runs: lines with `!` or `%`, and what nbconvert makes of them.
_CELL_LINE = re.compile(r"^[ \t]*(?:[!%]{1,2}[ \t]*(?:sudo|pip|uv|python|\{sys)|pip3?[ \t]+install\b)(?:\\\n|[^\n])*", re.MULTILINE)
_EXPORTED = re.compile(r"get_ipython\(\)\.(?:system|run_line_magic)\((?P<call>[^\n]*)\)")
_RUN = re.compile(r"^[ \t]*RUN[ \t]+(?P<command>(?:.*\\[ \t]*\n(?:[ \t]*#.*\n)*)*.*)$", re.MULTILINE | re.IGNORECASE)
_HEREDOC = re.compile(r"<<-?[\"']?(\w+)[\"']?[^\n]*\n(?P<body>.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)


def read_dockerfile(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """The libraries that ``RUN`` instructions install with pip."""
    for run in _RUN.finditer(text):
        line = text.count("\n", 0, run.start("command")) + 1
        body = _HEREDOC.match(text, run.start("command") + max(run["command"].find("<<"), 0)) if "<<" in run["command"] else None
        if body is not None:
            yield from installs(body["body"], text.count("\n", 0, body.start("body")) + 1, file, reading)
        else:
            yield from installs(re.sub(r"^[ \t]*#.*$", "\\\\", run["command"], flags=re.MULTILINE), line, file, reading)


def read_script(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """The libraries that a notebook's cells install with pip; the lines are those of ``text``."""
    if "pip" not in text:
        return
    for line in _CELL_LINE.finditer(text):
        yield from installs(line[0].lstrip().lstrip("!%"), text.count("\n", 0, line.start()) + 1, file, reading)
    for call in _EXPORTED.finditer(text):
        yield from installs(" ".join(_strings(call["call"])), text.count("\n", 0, call.start()) + 1, file, reading)


def _strings(text: str) -> list[str]:
    return [single or double for single, double in re.findall(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", text)]


def installs(command: str, line: int, file: Path, reading: Reading) -> Iterator[Entry]:
    """The entries of all ``pip install`` in a piece of shell that begins at a line."""
    joined = re.sub(r"\\[ \t]*\r?\n", lambda match: " " * len(match[0]), command)
    for match in _INSTALL.finditer(joined):
        first = match.start("arguments")
        words = _split(match["arguments"])
        skip = ""
        for word in words:
            at = line + command.count("\n", 0, max(joined.find(word, first), first))
            if skip:
                if skip in _FILES:
                    yield from include_file(word, at, file, reading)
                skip = ""
            elif word in _VALUED or word in _FILES:
                skip = word
            elif attached := re.match(r"(?:-r|-c|--requirement=|--constraint=)(.+)$", word):
                yield from include_file(attached[1], at, file, reading)
            elif not word.startswith(("-", "$", "{")) and word != ".":
                try:
                    entry = parse(word, at, file)
                except ValueError:
                    continue  # a shell's word is not always a requirement: a variable, a redirection
                if entry is not None:
                    yield replace(entry, alternatives=True)  # commands may stand in branches, and the last one wins


def _split(arguments: str) -> list[str]:
    """A shell's words; where the quotes do not match, the words between blanks."""
    try:
        return shlex.split(arguments, comments=True)
    except ValueError:
        return [word.strip("\"'") for word in arguments.split()]
