"""What the stream can show: colour, and characters."""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Mapping
from typing import Protocol, TextIO

import click

TAB = 4

_PLAIN = {"…": "...", "—": "-", "–": "-", "→": "->", "≥": ">=", "≤": "<=", "≠": "!=", "×": "x", "·": "-", "“": '"', "”": '"', "‘": "'", "’": "'"}

STYLES = {"error": "1;31", "warning": "1;33", "note": "1;36", "bold": "1", "dim": "2", "frame": "1;34", "add": "32", "remove": "31", "step": "36"}


class Stream(Protocol):
    """The part of a text stream that matters here."""

    def isatty(self) -> bool: ...


def use_color(flag: str, stream: Stream, environment: Mapping[str, str] | None = None) -> bool:
    """Whether to colour: the flag (``auto``, ``always``, ``never``), then NO_COLOR, then FORCE_COLOR, then whether it is a terminal."""
    env = os.environ if environment is None else environment
    if flag != "auto":
        return flag == "always"
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and env.get("TERM") != "dumb"


def fit(text: str, encoding: str | None) -> str:
    """``text`` with what the encoding of a stream lacks written in ASCII, so that printing it cannot fail."""
    name = encoding or "utf-8"
    try:
        text.encode(name)
    except LookupError:
        return fit(text, "ascii")
    except UnicodeEncodeError:
        return "".join(_fit_one(character, name) for character in text)
    return text


def echo(text: str, *, err: bool = False) -> None:
    """Print without a line ending; what the stream cannot encode is written in ASCII. Colour was decided before."""
    stream = sys.stderr if err else sys.stdout
    click.echo(fit(text, getattr(stream, "encoding", None)), nl=False, err=err, color=True)


def complain(line: str) -> None:
    """Print a line on standard error."""
    echo(line + "\n", err=True)


def _fit_one(character: str, encoding: str) -> str:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return _PLAIN.get(character) or character.encode("ascii", "backslashreplace").decode("ascii")
    return character


def safe(text: str) -> str:
    """``text`` of a checked file without control characters (tabs stay), so that it cannot steer the terminal."""
    return "".join(c if c == "\t" or not unicodedata.category(c).startswith("C") else "\N{REPLACEMENT CHARACTER}" for c in text)


def width(text: str) -> int:
    """How many cells a text takes in a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def use_links(color: bool, stream: Stream, environment: Mapping[str, str] | None = None) -> bool:
    """Whether to write hyperlinks: on a coloured terminal that is watched by a person."""
    env = os.environ if environment is None else environment
    return color and stream.isatty() and not env.get("CI") and env.get("TERM") != "dumb"


class Progress:
    """A line on standard error that says where a long run is: only on a terminal, only after a second, gone at the end."""

    AFTER = 1.0  # seconds
    EVERY = 0.1

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._next = clock() + self.AFTER if stream.isatty() else float("inf")
        self._shown = 0
        self._count = 0

    def step(self, name: str) -> None:
        """One more file is begun."""
        self._count += 1
        if self._clock() >= self._next:
            self._next = self._clock() + self.EVERY
            line = f"checking file {self._count}: {safe(name)}"[: shutil.get_terminal_size().columns - 1]
            self._write("\r" + line.ljust(self._shown))
            self._shown = len(line)

    def clear(self) -> None:
        """Take the line away, for what is to be printed."""
        if self._shown:
            self._write("\r" + " " * self._shown + "\r")
            self._shown = 0

    def _write(self, text: str) -> None:
        self._stream.write(fit(text, self._stream.encoding))
        self._stream.flush()


class Painter:
    """Colours text and links it, or leaves it alone."""

    def __init__(self, color: bool, links: bool = False) -> None:
        self._color = color
        self.links = links

    def link(self, text: str, address: str | None) -> str:
        """Text that leads to an address when it is clicked (OSC 8)."""
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and address else text

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self._color and text else text
