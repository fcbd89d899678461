"""The rules' pages: `rules/` of a checkout, `_pages` of an installed package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from lora_lint import _toml, codes

_META_PAGES = {
    codes.STEP_FAILED: (
        "the real training step of --verify fails, and no rule says why",
        "Only with `--verify`: the script stopped with an exception before its first optimizer step was done, or the step gave the adapters no "
        "gradient, and no finding of another rule explains it. It is not reported where the cause may be what `--verify` replaces or forbids.",
    ),
    codes.SYNTAX_ERROR: (
        "the file cannot be read as Python",
        "The file does not parse, cannot be decoded, or is nested too deeply, so nothing in it was checked. It is always reported, cannot be "
        "suppressed, and makes lora-lint exit with status 2.",
    ),
    codes.UNUSED: (
        "a suppression comment silences nothing",
        "Nothing is reported on the lines of the comment's statement for these codes, so the comment can go (safe fix). A comment works at the end "
        "of any line of the statement that is reported, not on a line above it.",
    ),
    codes.UNKNOWN: (
        "a suppression comment names no known rule",
        "The code or name in the comment is not one of lora-lint's, or the comment is malformed, so it silences nothing. The form is "
        "`# lora-lint: ignore[LL201] reason`, or with the rule's name.",
    ),
    codes.BLANKET: (
        "a suppression comment hides all rules",
        "`# lora-lint: ignore` without a code also hides what will be found tomorrow. Name the rules (safe fix).",
    ),
}


class PageError(Exception):
    """A page that is missing or malformed; the text is one clear line."""


@dataclass(frozen=True)
class Page:
    """One rule's page: its front matter as it stands, and the text with the examples put in."""

    code: str
    name: str
    meta: dict[str, Any]
    text: str

    @property
    def summary(self) -> str:
        return str(self.meta.get("summary", ""))


@lru_cache(maxsize=1)
def folder() -> Path | None:
    """Where the rule folders lie; ``None`` if they were not shipped."""
    package = Path(__file__).resolve().parent
    return next((place for place in (package / "_pages", package.parent / "rules") if place.is_dir()), None)


@lru_cache(maxsize=1)
def in_preview() -> frozenset[str]:
    """The codes of rules whose precision is not shown yet: their pages say stage P."""
    base = folder()
    files = ((code, base / f"{code}-{name}" / "rule.md") for code, name in codes.names().items()) if base else ()
    return frozenset(code for code, file in files if file.is_file() and b'\nstage = "P"\n' in file.read_bytes()[:4096])


def address(code: str) -> str | None:
    """Where the page of a rule lies, as a URI; ``None`` for a code without a file of its own."""
    base, name = folder(), codes.names().get(code)
    file = base / f"{code}-{name}" / "rule.md" if base else None
    return file.as_uri() if file is not None and file.is_file() else None


def page(code: str) -> Page:
    """The page of a code. Raises ``PageError``."""
    name = codes.names()[code]
    if code in _META_PAGES:
        summary, text = _META_PAGES[code]
        severity, fix = "warning", "unsafe" if code == codes.UNKNOWN else "safe"
        if code in (codes.STEP_FAILED, codes.SYNTAX_ERROR):
            severity, fix = "error", "none"
        return Page(code, name, {"code": code, "name": name, "summary": summary, "severity": severity, "fix": fix}, text)
    base = folder()
    file = base / f"{code}-{name}" / "rule.md" if base else None
    if file is None or not file.is_file():
        raise PageError(f"{code} has no page in this installation")
    return read(file, code, name)


def read(file: Path, code: str, name: str) -> Page:
    """Read a rule.md: TOML between two `+++` lines, then Markdown in which `{{ bad/x.py }}` stands for that file. Raises ``PageError``."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PageError(f"{file}: cannot read: {error}") from None
    match = re.match(r"\+\+\+\n(.*?)\n\+\+\+\n(.*)", text, re.DOTALL)
    if not match:
        raise PageError(f"{file}: no front matter between +++ lines")
    try:
        meta = _toml.loads(match[1])
    except _toml.TOMLDecodeError as error:
        raise PageError(f"{file}: front matter: {error}") from None

    def example(found: re.Match[str]) -> str:
        try:
            code_text = (file.parent / found[1]).read_text(encoding="utf-8").rstrip()
        except (OSError, UnicodeDecodeError):
            return found[0]
        return f"```python\n{code_text}\n```"

    return Page(code, name, meta, re.sub(r"\{\{\s*([\w./-]+)\s*\}\}", example, match[2]).strip())
