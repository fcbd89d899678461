"""A source file: its bytes, its text, its syntax tree, and the way between their positions.

Nothing but ``SourceError`` leaves this module for a file that cannot be read, decoded or parsed.
"""

from __future__ import annotations

import ast
import bisect
import codecs
import contextlib
import errno
import gc
import io
import os
import re
import select
import stat
import tokenize
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lora_lint.findings import Edit, Position, Span

if TYPE_CHECKING:
    import libcst

# LibCST's native parser overflows the C stack at some thousand levels and is quadratic in the depth, so deep files never reach it.
MAX_DEPTH = 500
MAX_BRACKETS = 200

PIPE_SECONDS = 5.0
"""How long a pipe may be silent at first."""

_NEWLINE = re.compile(r"\r\n?|\n")


class SourceError(Exception):
    """A file that cannot be used; ``message`` is one line without the path, ``position`` where it fails (``None``: the file as a whole)."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class ReadError(SourceError):
    """A file whose bytes could not be had: not the fault of its contents."""


class TooLargeError(SourceError):
    """A file over the limit (``Source.max_bytes``), which is not read."""


class Source:
    """One Python file.

    ``path`` is the name to display, ``file`` the real place (``None`` for text without one), ``text`` the decoded text with its line endings
    and without BOM. All byte offsets of the program are offsets into ``data``, the text in UTF-8.
    """

    max_bytes = 10 * 1024 * 1024

    def __init__(self, text: str, path: str, *, encoding: str = "utf-8", bom: bytes = b"", file: Path | None = None) -> None:
        self.text = text
        self.path = path
        self.encoding = encoding
        self.bom = bom
        self.file = file
        try:
            self.data = text.encode("utf-8")
        except UnicodeEncodeError as error:  # lone surrogates, which codecs such as unicode_escape let through
            raise SourceError(f"cannot decode as {encoding}: {error.reason}") from None

    def __getstate__(self) -> dict[str, Any]:
        """What travels between processes: not the tree."""
        return {name: value for name, value in self.__dict__.items() if name not in ("module", "_ranges")}

    @property
    def plain(self) -> bool:
        """Whether CPython's parser takes it; where it does not, ``module`` says whether anything is wrong."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return True

    @classmethod
    def read(cls, path: Path | str, display: str | None = None) -> Source:
        """Read a file; ``display`` is the name to show (default: the path as given). Raises ``SourceError`` (``ReadError`` for I/O)."""
        file = Path(path)
        kind = _kind(file)
        try:
            with open(file, "rb", opener=_opened) as stream:
                raw = stream.read(kind.max_bytes + 1)
        except OSError as error:
            raise ReadError(f"cannot read: {error.strerror or error}") from None
        return kind.from_bytes(raw, display if display is not None else str(path), file=file)

    @classmethod
    def from_bytes(cls, raw: bytes, path: str, *, file: Path | None = None) -> Source:
        """Decode the bytes of a file by its BOM and coding line (PEP 263). Raises ``SourceError``."""
        if len(raw) > cls.max_bytes:
            raise TooLargeError(f"too large: more than {cls.max_bytes // (1024 * 1024)} MiB")
        if b"\0" in raw:
            raise SourceError("contains null bytes: not a Python text file", _position_in(raw, raw.index(b"\0")))
        bom = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        except (SyntaxError, ValueError) as error:
            if isinstance(error, SyntaxError) and "unknown encoding" in str(error):
                raise SourceError(str(error).partition(" for ")[0], Position(1, 1)) from None
            encoding = "utf-8"  # no coding line, or a BOM with another one: Python reads UTF-8
        encoding = "utf-8" if encoding == "utf-8-sig" else encoding
        try:
            text = raw[len(bom) :].decode(encoding)
        except UnicodeDecodeError as error:
            raise SourceError(f"cannot decode as {encoding}: {error.reason}", _position_in(raw, error.start + len(bom))) from None
        except (LookupError, ValueError) as error:
            raise SourceError(f"cannot decode as {encoding}: {error}") from None
        if "\0" in text:
            raise SourceError("contains null bytes: not a Python text file")
        return cls(text, path, encoding=encoding, bom=bom, file=file)

    def with_text(self, text: str) -> Source:
        """The same file with another text. Raises ``SourceError`` where the file's encoding lacks a character of it."""
        return self.from_bytes(self.encode(text), self.path, file=self.file)

    def encode(self, text: str) -> bytes:
        """``text`` as bytes of this file: its encoding and BOM. Raises ``SourceError`` where the encoding lacks a character."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            missing = text[error.start : error.start + 1]
            raise SourceError(f"the file's encoding {self.encoding} has no {missing!a}") from None

    # What differs in a notebook, whose text is made of its cells.

    @property
    def original(self) -> str:
        """The text as the user wrote it, line for line."""
        return self.text

    @property
    def problems(self) -> list[SourceError]:
        """What is wrong with parts of the file that the rest does not suffer from."""
        return []

    def place(self, position: Position) -> tuple[int | None, Position]:
        """The cell that a position lies in (``None``: there are no cells), and the position in there."""
        return None, position

    def line_name(self, line: int) -> str:
        """What people call a line of the text."""
        return str(line)

    def in_file(self, position: Position) -> Position:
        """A position of the text in the file itself."""
        return position

    def shown(self, text: str) -> str:
        """Lines of the text (after an edit, too) as the user knows them."""
        return text

    def editable(self, edit: Edit) -> bool:
        """Whether an edit may be made where it stands."""
        return True

    @cached_property
    def newline(self) -> str:
        """The line ending that most lines have: ``"\\n"`` or ``"\\r\\n"``."""
        windows = self.text.count("\r\n")
        return "\r\n" if 2 * windows > self.text.count("\n") else "\n"

    @cached_property
    def module(self) -> libcst.Module:
        """The LibCST tree. Raises ``SourceError`` with a position on a syntax error, and on nesting that no parser can take."""
        complaint = _check(self.text)
        import libcst

        try:
            with _unvalidated():
                return libcst.parse_module(self.text)
        except libcst.ParserSyntaxError as error:
            # CPython names the cause ("'(' was never closed") where LibCST lists the tokens it expected.
            if complaint is not None:
                raise complaint from None
            reason = error.message.splitlines()[0] if error.message else "syntax error"
            raise SourceError(f"syntax error: {reason}", Position(max(error.raw_line, 1), error.raw_column + 1)) from None
        except RecursionError:
            raise SourceError("nested too deeply to be analysed") from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # how a failed assertion of the native parser arrives
                raise
            raise SourceError("syntax error: the parser gave up") from None

    @cached_property
    def _ranges(self) -> Any:
        from libcst.metadata import MetadataWrapper, PositionProvider

        try:
            return MetadataWrapper(self.module, unsafe_skip_copy=True).resolve(PositionProvider)
        except RecursionError:
            raise SourceError("nested too deeply to be analysed") from None

    def span(self, node: libcst.CSTNode) -> Span:
        """Where a node of ``module`` stands, without the whitespace around it."""
        found = self._ranges[node]
        return Span(Position(found.start.line, found.start.column + 1), Position(found.end.line, found.end.column + 1))

    def byte_range(self, node: libcst.CSTNode) -> tuple[int, int]:
        """``span`` as offsets into ``data``."""
        span = self.span(node)
        return self.offset(span.start), self.offset(span.end)

    @cached_property
    def line_offsets(self) -> list[int]:
        """For each line the offset into ``data`` at which it starts."""
        return [0, *(match.end() for match in re.finditer(rb"\r\n?|\n", self.data))]

    def line(self, number: int) -> str:
        """The text of a 1-based line without its ending; empty where there is no such line."""
        starts = self.line_offsets
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] if number < len(starts) else len(self.data)
        return self.data[starts[number - 1] : end].decode("utf-8").rstrip("\r\n")

    def offset(self, position: Position) -> int:
        """The offset into ``data`` of a position; one past the end of a line or file is clamped to that end."""
        starts = self.line_offsets
        if position.line > len(starts):
            return len(self.data)
        start = starts[position.line - 1]
        end = starts[position.line] if position.line < len(starts) else len(self.data)
        return start + len(self.data[start:end].decode("utf-8")[: max(position.column - 1, 0)].encode("utf-8"))

    def position(self, offset: int) -> Position:
        """The position of an offset into ``data``; inside a character it is that of the character."""
        offset = min(max(offset, 0), len(self.data))
        line = bisect.bisect_right(self.line_offsets, offset)
        before = self.data[self.line_offsets[line - 1] : offset].decode("utf-8", errors="ignore")
        return Position(line, len(before) + 1)


@contextlib.contextmanager
def _unvalidated() -> Iterator[None]:
    """Without LibCST's checks of each node that it makes, which are two fifths of the time: what its parser makes is valid.

    The garbage collector rests, too: it would look through a tree that only grows.
    """
    from libcst import CSTNode

    before, collecting = CSTNode.__post_init__, gc.isenabled()
    CSTNode.__post_init__ = _nothing  # type: ignore[method-assign, assignment]
    gc.disable()
    try:
        yield
    finally:
        CSTNode.__post_init__ = before  # type: ignore[method-assign]
        if collecting:
            gc.enable()


def _nothing(node: object) -> None:
    pass


def source_of(raw: bytes, path: str, *, file: Path | None = None) -> Source:
    """What the bytes of a file are: a notebook if it is called one, else a Python file. Raises ``SourceError``."""
    return _kind(file or Path(path)).from_bytes(raw, path, file=file)


def _kind(file: Path) -> type[Source]:
    if file.suffix == ".ipynb":
        from lora_lint.notebook import Notebook

        return Notebook
    return Source


def _opened(path: str, flags: int) -> int:
    """Opens a file; a pipe only when somebody writes to it before long, so that no run hangs on one."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not hasattr(os, "O_NONBLOCK"):
        return descriptor
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode) and not select.select([descriptor], [], [], PIPE_SECONDS)[0]:
            raise OSError(errno.EAGAIN, "a pipe that nobody writes to")
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _position_in(raw: bytes, offset: int) -> Position:
    """Where a byte of an undecoded file stands."""
    before = _NEWLINE.split(raw[:offset].decode("latin-1"))
    return Position(len(before), len(before[-1]) + 1)


def _check(text: str) -> SourceError | None:
    """What CPython says against ``text``; ``None`` when it takes it. Raises ``SourceError`` where the nesting is beyond LibCST.

    A complaint alone decides nothing: LibCST may know a newer syntax than the Python that runs here.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        position = Position(max(error.lineno or 1, 1), max(error.offset or 1, 1))
        if _bracket_depth(text) > MAX_BRACKETS:
            raise SourceError("nested too deeply to be analysed", position) from None
        return SourceError(f"syntax error: {error.msg}", position)
    except (RecursionError, MemoryError):
        raise SourceError("nested too deeply to be analysed") from None
    except ValueError as error:
        return SourceError(f"syntax error: {error}")
    nodes: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        if not nodes:
            return None
        nodes = [child for node in nodes for child in ast.iter_child_nodes(node)]
    raise SourceError("nested too deeply to be analysed")


def _bracket_depth(text: str) -> int:
    """An upper bound of how deep brackets nest (those in strings count too)."""
    depth = deepest = 0
    for match in re.finditer(r"[()\[\]{}]", text):
        depth = depth + 1 if match[0] in "([{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest
