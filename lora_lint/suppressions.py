"""Suppression comments: which findings they silence, and the findings about the comments themselves.

``# lora-lint: ignore[LL201, kbit-training-not-prepared] reason``, ``# lora-lint: ignore-file[...]``, ``# noqa: LL201``, and ``# noqa``. A comment
silences the findings on the lines of its own statement; one on a line of its own between statements silences nothing.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from lora_lint import codes
from lora_lint.findings import Applicability, Edit, Finding, Fix, Position, Severity, Span
from lora_lint.source import Source

# What may stand in a file that has anything to do here; the rest is not even tokenized.
_MENTIONED = re.compile(rb"lora-lint\s*:|#\s*noqa", re.IGNORECASE)

# A comment may carry several directives of several tools; each begins with its own `#`.
_SEGMENT = re.compile(r"#(?=\s*(?:noqa\b|lora-lint\s*:|type:|pragma:|pylint:|fmt:|ruff:|isort:|nosec\b|pyright:|mypy:))", re.IGNORECASE)
_OURS = re.compile(r"#\s*lora-lint\s*:\s*(?P<verb>[\w-]*)\s*(?P<list>\[(?P<codes>[^\[\]]*)\])?(?P<rest>.*)", re.IGNORECASE)
_NOQA = re.compile(r"#\s*noqa\b(?P<colon>\s*:)?", re.IGNORECASE)
_WORD = re.compile(r"[\w-]+")
_NOQA_CODES = re.compile(r"\s*(?P<code>[A-Za-z]+[0-9]+\b(?!-)|[a-z]+(?:-[a-z]+)+)(?:\s*,|(?=\s)|$)")


@dataclass(frozen=True)
class _Code:
    """One entry of a directive's list: its text and columns (0-based, code points), and the code of ours that it stands for."""

    text: str
    start: int
    end: int
    code: str | None


@dataclass
class _Directive:
    """One suppression. ``codes`` are the entries that are ours or meant to be, ``entries`` all; ``used`` fills while findings are matched."""

    kind: str
    row: int
    start: int
    end: int
    entries: list[_Code]
    codes: list[_Code]
    blanket: bool = False
    problem: str = ""
    own_line: bool = False
    used: set[str] = field(default_factory=set)

    def covers(self, code: str) -> bool:
        return self.blanket or any(one.code == code for one in self.codes)


@dataclass(frozen=True)
class Outcome:
    """``kept``: the findings to report, with those about suppressions; ``suppressed``: what comments silenced."""

    kept: list[Finding]
    suppressed: list[Finding]


class Suppressions:
    """The suppression comments of one file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._directives: list[_Directive] = []
        self._statements: list[tuple[int, int]] = []
        if _MENTIONED.search(source.data):
            self._scan()

    def apply(self, findings: Iterable[Finding], enabled: frozenset[str]) -> Outcome:
        """Split findings into kept and suppressed, and add those about the comments; ``enabled`` are the codes that were looked for."""
        kept: list[Finding] = []
        suppressed: list[Finding] = []
        for finding in findings:
            (suppressed if self.silences(finding) else kept).append(finding)
        for finding in self._about_comments(enabled):
            listed = any(one.code == finding.code for d in self._on_lines(finding) for one in d.codes)
            (suppressed if listed else kept).append(finding)
        kept.sort(key=lambda f: (f.path, f.span.start, f.code))
        return Outcome(kept, suppressed)

    def silences(self, finding: Finding) -> bool:
        """Whether a comment silences a finding; that makes the comment a used one."""
        if finding.code == codes.SYNTAX_ERROR or finding.path != self._source.path:
            return False
        covering = [d for d in self._on_lines(finding) if d.covers(finding.code)]
        for directive in covering:
            directive.used.add(finding.code)
        return bool(covering)

    def _on_lines(self, finding: Finding) -> list[_Directive]:
        """The directives that apply to where a finding stands."""
        first, last = finding.span.start.line, finding.span.end.line
        if finding.span.end.column == 1 and last > first:
            last -= 1
        lines = [(start, end) for start, end in self._statements if start <= first <= end or start <= last <= end]
        low = min([first, *(start for start, _ in lines)])
        high = max([last, *(end for _, end in lines)])
        return [d for d in self._directives if d.kind == "file" or low <= d.row <= high]

    def _scan(self) -> None:
        """Read the comments and the logical lines; a file that stops tokenizing keeps what was read so far."""
        start = None
        try:
            for token in tokenize.generate_tokens(io.StringIO(self._source.text, newline="").readline):
                if token.type == tokenize.COMMENT:
                    own_line = start is None and not token.line[: token.start[1]].strip()
                    self._read(token.string.rstrip("\r"), token.start[0], token.start[1], own_line)
                elif token.type == tokenize.NEWLINE:
                    if start is not None:
                        self._statements.append((start, token.start[0]))
                    start = None
                elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER) and start is None:
                    start = token.start[0]
        except (tokenize.TokenError, SyntaxError):
            return

    def _read(self, comment: str, row: int, column: int, own_line: bool) -> None:
        """Read the directives of one comment that begins at ``column`` (0-based)."""
        starts = [match.start() for match in _SEGMENT.finditer(comment)]
        for start, end in pairwise([*starts, len(comment)]):
            text = comment[start:end].rstrip()
            base = column + start
            directive = self._ours(text, row, base) or self._noqa(text, row, base)
            if directive:
                directive.own_line = own_line
                self._directives.append(directive)

    def _ours(self, text: str, row: int, base: int) -> _Directive | None:
        match = _OURS.match(text)
        if not match:
            return None
        verb, listed = match["verb"].lower(), match["list"] is not None
        directive = _Directive("file" if verb == "ignore-file" else "line", row, base, base + len(text), [], [])
        if verb not in ("ignore", "ignore-file"):
            directive.problem = f"`lora-lint: {match['verb']}` is no suppression; write `lora-lint: ignore[CODE] reason`"
        elif listed:
            offset = base + match.start("codes")
            directive.codes = directive.entries = [
                _Code(w[0], offset + w.start(), offset + w.end(), codes.resolve(w[0])) for w in _WORD.finditer(match["codes"])
            ]
            if not directive.codes:
                directive.blanket = True
        elif match["rest"].lstrip().startswith(("[", "(", "=", ":")):
            directive.problem = "malformed suppression; write `lora-lint: ignore[CODE] reason`"
        else:
            directive.blanket = True
        return directive

    def _noqa(self, text: str, row: int, base: int) -> _Directive | None:
        match = _NOQA.match(text)
        if not match:
            return None
        directive = _Directive("noqa", row, base, base + len(text), [], [])
        if not match["colon"]:
            directive.blanket = True
            return directive
        position = match.end()
        while entry := _NOQA_CODES.match(text, position):
            word = entry["code"]
            one = _Code(word, base + entry.start("code"), base + entry.end("code"), codes.resolve(word))
            if one.code or re.fullmatch(r"LL\d+", word, re.IGNORECASE):
                directive.codes.append(one)
            elif not re.fullmatch(r"[A-Za-z]+[0-9]+", word):
                break  # the text after the codes is a reason
            directive.entries.append(one)
            position = entry.end()
        return directive if directive.codes else None

    def _about_comments(self, enabled: frozenset[str]) -> list[Finding]:
        found: list[Finding] = []
        for directive in self._directives:
            if directive.problem:
                if codes.UNKNOWN in enabled:
                    found.append(self._finding(directive, codes.UNKNOWN, directive.problem))
                continue
            if codes.UNKNOWN in enabled:
                found += [self._unknown(directive, one) for one in directive.codes if one.code is None]
            # A code that was not looked for cannot be called unused.
            unused = [one for one in directive.codes if one.code and one.code in enabled and one.code not in directive.used]
            unused = [one for one in unused if one.code not in codes.META]
            if directive.blanket and directive.kind != "noqa":
                if directive.used and codes.BLANKET in enabled:
                    found.append(self._blanket(directive))
                elif not directive.used and codes.UNUSED in enabled and enabled >= codes.names().keys():
                    found.append(self._unused(directive, []))
                elif not directive.used and codes.BLANKET in enabled:
                    found.append(self._finding(directive, codes.BLANKET, "suppression without a code; name the rules, as in `ignore[LL201]`"))
            elif unused and codes.UNUSED in enabled:
                found.append(self._unused(directive, unused))
        return found

    def _unused(self, directive: _Directive, unused: list[_Code]) -> Finding:
        listed = ", ".join(one.text for one in unused)
        message = f"unused suppression of {listed}: nothing to silence here" if listed else "unused suppression: nothing to silence here"
        if directive.own_line and directive.kind == "line":
            message += " (it works at the end of a line of the statement, not above it)"
        edit = self._without(directive, unused)
        return self._finding(directive, codes.UNUSED, message, Fix("remove the unused suppression", Applicability.SAFE, (edit,)))

    def _unknown(self, directive: _Directive, one: _Code) -> Finding:
        near = codes.nearest(one.text)
        hint = f"; did you mean {near}?" if near else ""
        row = directive.row
        if near:
            edit = Edit(self._offset(row, one.start), self._offset(row, one.end), near)
            fix = Fix(f"write {near}", Applicability.UNSAFE, (edit,))
        else:
            fix = Fix("remove the unknown code", Applicability.UNSAFE, (self._without(directive, [one]),))
        return self._finding(directive, codes.UNKNOWN, f"unknown rule {one.text!r} in a suppression{hint}", fix)

    def _blanket(self, directive: _Directive) -> Finding:
        listed = ", ".join(sorted(directive.used))
        text = f"# lora-lint: {'ignore-file' if directive.kind == 'file' else 'ignore'}[{listed}]"
        segment = self._source.line(directive.row)[directive.start : directive.end]
        match = _OURS.match(segment)
        reason = match["rest"].strip() if match else ""
        edit = Edit(self._offset(directive.row, directive.start), self._offset(directive.row, directive.end), f"{text} {reason}".rstrip())
        message = f"suppression without a code also hides findings to come; it silences {listed}"
        return self._finding(directive, codes.BLANKET, message, Fix(f"name {listed}", Applicability.SAFE, (edit,)))

    def _without(self, directive: _Directive, gone: list[_Code]) -> Edit:
        """Remove entries of a directive; when none is left the directive, its comment, or its line where nothing else is on it."""
        row, line = directive.row, self._source.line(directive.row)
        kept = [one for one in directive.entries if one not in gone]
        if kept:
            first, second, last = directive.entries[0], directive.entries[1], directive.entries[-1]
            text = line[first.end : second.start].join(one.text for one in kept)
            return Edit(self._offset(row, first.start), self._offset(row, last.end), text)
        before, after = line[: directive.start], line[directive.end :]
        if not before.strip() and not after.strip():
            return Edit(self._offset(row, 0), self._source.offset(Position(row + 1, 1)), "")
        if after.strip():
            return Edit(self._offset(row, directive.start), self._offset(row, len(line) - len(after.lstrip())), "")
        return Edit(self._offset(row, len(before.rstrip())), self._offset(row, len(line)), "")

    def _offset(self, row: int, column: int) -> int:
        return self._source.offset(Position(row, column + 1))

    def _finding(self, directive: _Directive, code: str, message: str, fix: Fix | None = None) -> Finding:
        span = Span(Position(directive.row, directive.start + 1), Position(directive.row, directive.end + 1))
        line = self._source.line(directive.row)
        return Finding(code, codes.META[code], Severity.WARNING, message, self._source.path, span, fix=fix, line_text=line)
