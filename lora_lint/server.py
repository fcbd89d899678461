"""The language server: diagnostics while typing, quick fixes, fix-all, and the rules' pages on hover, for files and for notebooks.

A notebook is checked as one program, and what is found is reported cell by cell. A check runs in a thread once typing has paused; the result of an
older version is dropped. Nothing of what is open is executed. Positions are in the unit that the client asks for.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from lora_lint import __version__, codes, pages
from lora_lint.config import ConfigError, Configs, settings
from lora_lint.engine import Projects, check_source
from lora_lint.findings import Applicability, Edit, Finding, Position, Severity, Span
from lora_lint.fix import fix_text
from lora_lint.notebook import Notebook
from lora_lint.source import Source, SourceError, source_of

NAME = "lora-lint"
PAUSE = 0.2  # seconds without a keystroke before a file is checked
FIX_ALL = f"source.fixAll.{NAME}"
NOTEBOOK_FIX_ALL = f"notebook.source.fixAll.{NAME}"
_LEVELS = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
}
_UNITS = {lsp.PositionEncodingKind.Utf8: "utf-8", lsp.PositionEncodingKind.Utf16: "utf-16-le", lsp.PositionEncodingKind.Utf32: "utf-32-le"}
_WIDTHS = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 4}


@dataclass(frozen=True)
class _Checked:
    """One checked version of a document: the parts that it consists of (the cells of a notebook), and what was found."""

    key: tuple[object, ...]
    parts: Sequence[str]
    source: Source | None
    findings: Sequence[Finding] = field(default_factory=tuple)


class Server(LanguageServer):
    """Keeps the last check of each open document."""

    def __init__(self) -> None:
        super().__init__(
            NAME,
            __version__,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
            notebook_document_sync=lsp.NotebookDocumentSyncOptions(
                notebook_selector=[lsp.NotebookDocumentFilterWithCells(cells=[lsp.NotebookCellLanguage(language="python")])], save=True
            ),
        )
        self._checks: dict[str, _Checked] = {}
        self._waiting: dict[str, asyncio.Task[None]] = {}

    # --- documents ---------------------------------------------------------------------------------------------------------------------------

    def whole(self, uri: str) -> str:
        """The URI of what a document belongs to: its notebook, or itself."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        return notebook.uri if notebook is not None else uri

    def parts(self, uri: str) -> list[str]:
        """The documents that a file or notebook consists of."""
        notebook = self.workspace.get_notebook_document(notebook_uri=uri)
        if notebook is None:
            return [uri]
        return [cell.document for cell in notebook.cells if cell.kind == lsp.NotebookCellKind.Code]

    def state(self, uri: str) -> tuple[object, ...]:
        """What a check of a document is for: its parts and their versions."""
        return tuple((part, self.workspace.get_text_document(part).version) for part in self.parts(uri))

    def read(self, uri: str) -> tuple[bytes, Path | None]:
        """The bytes of a document as it stands in the editor, and its place."""
        parts = self.parts(uri)
        texts = [self.workspace.get_text_document(part).source for part in parts]
        place = to_fs_path(uri)
        file = Path(place) if place else None
        if parts == [uri]:
            return texts[0].encode("utf-8", "surrogatepass"), file
        cells: list[dict[str, Any]] = [
            {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": text} for text in texts
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode(), file or Path("notebook.ipynb")

    # --- checks ------------------------------------------------------------------------------------------------------------------------------

    async def check(self, uri: str) -> _Checked:
        """The check of a document as it stands now; one that is done already is not done again."""
        key = self.state(uri)
        known = self._checks.get(uri)
        if known is None or known.key != key:
            raw, file = self.read(uri)
            parts = self.parts(uri)
            source, findings, complaint = await asyncio.to_thread(_check, raw, file, uri)
            if complaint:
                self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Warning, complaint))
            known = _Checked(key, parts, source, findings)
            if self.state(uri) == key:
                self._checks[uri] = known
        return known

    def later(self, uri: str) -> None:
        """Check a document when typing pauses, and publish what is found; an earlier plan for it is dropped."""
        if (task := self._waiting.pop(uri, None)) is not None:
            task.cancel()
        if not self.pulls:
            self._waiting[uri] = asyncio.get_running_loop().create_task(self._publish(uri))

    async def _publish(self, uri: str) -> None:
        await asyncio.sleep(PAUSE)
        checked = await self.check(uri)
        if checked.key != self.state(uri):
            return
        for part in checked.parts:
            version = self.workspace.get_text_document(part).version
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(part, self.diagnostics(checked, part), version))

    def forget(self, uri: str, parts: Iterable[str]) -> None:
        """A document is closed: nothing is reported on it any more."""
        self._checks.pop(uri, None)
        if (task := self._waiting.pop(uri, None)) is not None:
            task.cancel()
        if not self.pulls:
            for part in parts:
                self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(part, []))

    def recheck(self) -> None:
        """Settings or dependency files have changed: all that is open is checked again."""
        open_now = list(self._checks)
        self._checks.clear()
        for uri in open_now:
            self.later(uri)

    @property
    def pulls(self) -> bool:
        """Whether the client asks for diagnostics itself."""
        text = self.client_capabilities.text_document
        return text is not None and text.diagnostic is not None

    # --- what the client sees ----------------------------------------------------------------------------------------------------------------

    def _column(self, line: str, column: int) -> int:
        """A 1-based column in code points, as the client counts from 0."""
        codec = _UNITS[lsp.PositionEncodingKind(self.workspace.position_encoding or "utf-16")]
        return len(line[: column - 1].encode(codec, "surrogatepass")) // _WIDTHS[codec]

    def _position(self, source: Source, position: Position) -> lsp.Position:
        _, place = source.place(position)
        return lsp.Position(place.line - 1, self._column(source.line(position.line), place.column))

    def _range(self, source: Source, span: Span) -> lsp.Range:
        return lsp.Range(self._position(source, span.start), self._position(source, span.end))

    @staticmethod
    def _part(checked: _Checked, position: Position) -> str:
        """The document in which a position lies."""
        cell, _ = checked.source.place(position) if checked.source else (None, position)
        return checked.parts[min(cell, len(checked.parts)) - 1] if cell else checked.parts[0]

    def diagnostics(self, checked: _Checked, part: str) -> list[lsp.Diagnostic]:
        """The findings in one document of a check."""
        if checked.source is None:
            return []
        return [self._diagnostic(checked, finding) for finding in checked.findings if self._part(checked, finding.span.start) == part]

    def _diagnostic(self, checked: _Checked, finding: Finding) -> lsp.Diagnostic:
        assert checked.source is not None
        text = [finding.message]
        text += [line for line in (finding.failure, finding.versions, f"when {finding.condition}" if finding.condition else "") if line]
        related = []
        for step in finding.flow:
            if step.path == finding.path:
                place = lsp.Location(self._part(checked, step.span.start), self._range(checked.source, step.span))
            else:
                uri = from_fs_path(str(Path(step.path).absolute())) or step.path
                where = lsp.Position(step.span.start.line - 1, step.span.start.column - 1)
                place = lsp.Location(uri, lsp.Range(where, where))
            related.append(lsp.DiagnosticRelatedInformation(place, step.message))
        return lsp.Diagnostic(
            range=self._range(checked.source, finding.span),
            message="\n".join(text),
            severity=_LEVELS[finding.severity],
            code=finding.code,
            source=NAME,
            tags=[lsp.DiagnosticTag.Unnecessary] if finding.code == codes.UNUSED else None,
            related_information=related or None,
        )

    def changes(self, checked: _Checked, edits: Iterable[Edit]) -> lsp.WorkspaceEdit:
        """Edits of a checked text as the client applies them."""
        source = checked.source
        assert source is not None
        by_part: dict[str, list[lsp.TextEdit | lsp.AnnotatedTextEdit | lsp.SnippetTextEdit]] = {}
        for edit in sorted(set(edits), key=lambda one: (one.start, one.end)):
            start, end = source.position(edit.start), source.position(edit.end)
            text = edit.text
            anchor = start
            if isinstance(source, Notebook) and source.cell_at(start.line) is None:  # before the next cell's marker: the end of the cell above
                anchor = source.position(edit.start - 1)
                start, text = anchor, "\n" + text.removesuffix("\n")
                end = start
            elif isinstance(source, Notebook) and source.cell_at(end.line) is None:
                end = source.position(edit.end - 1)
            where = lsp.Range(self._position(source, start), self._position(source, end))
            by_part.setdefault(self._part(checked, anchor), []).append(lsp.TextEdit(where, text))
        return lsp.WorkspaceEdit(
            document_changes=[
                lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(part, self.workspace.get_text_document(part).version), made)
                for part, made in by_part.items()
            ]
        )

    def replaced(self, checked: _Checked, after: Source) -> lsp.WorkspaceEdit:
        """The change from a checked text to another one, as one edit for each line range that differs."""
        from difflib import SequenceMatcher

        source = checked.source
        assert source is not None
        old, new = source.text.splitlines(keepends=True), after.text.splitlines(keepends=True)
        starts = source.line_offsets
        edits = []
        for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind != "equal":
                end = starts[b] if b < len(starts) else len(source.data)
                edits.append(Edit(starts[a] if a < len(starts) else len(source.data), end, "".join(new[c:d])))
        return self.changes(checked, edits)


def _check(raw: bytes, file: Path | None, uri: str) -> tuple[Source | None, list[Finding], str]:
    """Check the text of an editor; the last part is a line for the log where it could not be done."""
    path = str(file) if file else uri
    try:
        config = Configs().of(file.parent.absolute() if file else Path.cwd())
        if file is not None and config.excludes(file.absolute()):
            return None, [], ""
        source = source_of(raw, path, file=file)
        projects = Projects()
        result = check_source(source, settings(config), projects.of(file) if file else None)
    except ConfigError as error:
        return None, [], str(error)
    except SourceError as error:
        return None, [], f"{path}: {error.message}"
    return source, result.findings, ""


def _fixed(checked: _Checked, unsafe: bool = False) -> Source | None:
    """The text with all safe fixes; ``None`` where nothing changes."""
    source = checked.source
    assert source is not None
    config = Configs().of(source.file.parent.absolute() if source.file else Path.cwd())
    in_force = settings(config)
    project = Projects().of(source.file) if source.file else None
    after = fix_text(source, lambda current: check_source(current, in_force, project).findings, unsafe).source_after
    return after if after.text != source.text else None


def create() -> Server:
    """The server with its features; ``start_io`` runs it."""
    server = Server()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        ls.later(ls.whole(params.text_document.uri))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
        ls.later(ls.whole(params.text_document.uri))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.forget(params.text_document.uri, [params.text_document.uri])

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
    def notebook_opened(ls: Server, params: lsp.DidOpenNotebookDocumentParams) -> None:
        ls.later(params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_changed(ls: Server, params: lsp.DidChangeNotebookDocumentParams) -> None:
        ls.later(params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_closed(ls: Server, params: lsp.DidCloseNotebookDocumentParams) -> None:
        ls.forget(params.notebook_document.uri, [cell.uri for cell in params.cell_text_documents])

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(ls: Server, _: lsp.DidChangeWatchedFilesParams) -> None:
        ls.recheck()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration_changed(ls: Server, _: lsp.DidChangeConfigurationParams) -> None:
        ls.recheck()

    @server.feature(
        lsp.TEXT_DOCUMENT_DIAGNOSTIC, lsp.DiagnosticOptions(identifier=NAME, inter_file_dependencies=True, workspace_diagnostics=False)
    )
    async def pulled(ls: Server, params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
        uri = ls.whole(params.text_document.uri)
        checked = await ls.check(uri)
        result = str(hash((uri, checked.key)))
        if params.previous_result_id == result:
            return lsp.RelatedUnchangedDocumentDiagnosticReport(result_id=result)
        return lsp.RelatedFullDocumentDiagnosticReport(items=ls.diagnostics(checked, params.text_document.uri), result_id=result)

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, FIX_ALL, NOTEBOOK_FIX_ALL], resolve_provider=True),
    )
    async def actions(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = ls.whole(params.text_document.uri)
        checked = await ls.check(uri)
        if checked.source is None:
            return []
        found: list[lsp.CodeAction] = []
        if _wanted(params.context.only, lsp.CodeActionKind.QuickFix.value):
            found += _quick_fixes(ls, checked, params)
        is_notebook = checked.parts != [uri]
        kind = NOTEBOOK_FIX_ALL if is_notebook else FIX_ALL
        if any(finding.fix and finding.fix.applicability is Applicability.SAFE for finding in checked.findings):
            for one in (FIX_ALL, kind) if is_notebook and params.context.only else (kind,):
                if _wanted(params.context.only, one):
                    found.append(lsp.CodeAction("lora-lint: fix all that is safe to fix", one, data={"uri": uri}))
        return found

    @server.feature(lsp.CODE_ACTION_RESOLVE)
    async def resolved(ls: Server, action: lsp.CodeAction) -> lsp.CodeAction:
        """Fix-all is computed when it is chosen, since it may take several passes."""
        uri = (action.data or {}).get("uri") if isinstance(action.data, dict) else None
        if not isinstance(uri, str):
            return action
        checked = await ls.check(uri)
        after = await asyncio.to_thread(_fixed, checked) if checked.source else None
        action.edit = ls.replaced(checked, after) if after else lsp.WorkspaceEdit(document_changes=[])
        return action

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        checked = await ls.check(ls.whole(params.text_document.uri))
        for diagnostic in ls.diagnostics(checked, params.text_document.uri):
            if _covers(diagnostic.range, params.position) and isinstance(diagnostic.code, str):
                page = pages.page(diagnostic.code)
                text = f"**{page.code} {page.name}**\n\n{page.summary}\n\n{page.text}"
                return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), diagnostic.range)
        return None

    return server


def _quick_fixes(ls: Server, checked: _Checked, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The fixes of the findings that a range touches; a safe one is preferred."""
    found = []
    for finding in checked.findings:
        fix = finding.fix
        if fix is None or not fix.edits or fix.applicability is Applicability.DISPLAY:
            continue
        if ls._part(checked, finding.span.start) != params.text_document.uri:
            continue
        diagnostic = ls._diagnostic(checked, finding)
        if _touch(diagnostic.range, params.range):
            title = f"lora-lint ({finding.code}): {fix.title}"
            safe = fix.applicability is Applicability.SAFE
            found.append(
                lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, [diagnostic], is_preferred=safe, edit=ls.changes(checked, fix.edits))
            )
    return found


def _wanted(only: Sequence[lsp.CodeActionKind | str] | None, kind: str) -> bool:
    """Whether a client that asks for some kinds of action asks for this one, too."""
    asked = [one.value if isinstance(one, lsp.CodeActionKind) else one for one in only or ()]
    return not asked or any(kind == one or kind.startswith(one + ".") for one in asked)


def _order(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character


def _touch(a: lsp.Range, b: lsp.Range) -> bool:
    return _order(a.start) <= _order(b.end) and _order(b.start) <= _order(a.end)


def _covers(where: lsp.Range, position: lsp.Position) -> bool:
    return _order(where.start) <= _order(position) <= _order(where.end)


def start(**options: Any) -> None:
    """Serve on standard input and output until the client leaves."""
    create().start_io(**options)
