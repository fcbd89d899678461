"""The language server, driven over its pipes as an editor does."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

MOVED = """from transformers import AutoModelForCausalLM
words = "😀 微"; model = AutoModelForCausalLM.from_pretrained("a", device_map="auto")
words = "😀 微"; model = model.cuda()
"""
CLEAN = MOVED.replace(".cuda()", "")


def configured(name: str = "visual-studio-code", *, pull: bool = False, units: list[lsp.PositionEncodingKind] | None = None) -> lsp.InitializeParams:
    capabilities = client_capabilities(name)
    assert capabilities.text_document is not None
    if not pull:
        capabilities.text_document.diagnostic = None
    if units is not None:
        assert capabilities.general is not None
        capabilities.general.position_encodings = list(units)
    return lsp.InitializeParams(capabilities=capabilities)


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[sys.executable, "-m", "lora_lint", "server"]))
async def client(lsp_client: LanguageClient) -> Any:
    yield lsp_client
    await lsp_client.shutdown_session()


async def published(client: LanguageClient, *uris: str) -> list[lsp.Diagnostic]:
    """The diagnostics of documents, once the server has sent those of all: a notification may come before anybody waits for it."""
    deadline = time.monotonic() + 30
    while not all(uri in client.diagnostics for uri in uris):
        assert time.monotonic() < deadline, "no diagnostics were published"
        await asyncio.sleep(0.02)
    return [found for uri in uris for found in client.diagnostics[uri]]


async def opened(client: LanguageClient, file: Path, text: str) -> list[lsp.Diagnostic]:
    document = lsp.TextDocumentItem(uri=file.as_uri(), language_id="python", version=1, text=text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(document))
    return await published(client, file.as_uri())


async def asked(client: LanguageClient, uri: str, where: lsp.Range, *only: str) -> list[lsp.CodeAction]:
    context = lsp.CodeActionContext(diagnostics=[], only=list(only) or None)
    found = await client.text_document_code_action_async(lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), where, context))
    return [action for action in found or [] if isinstance(action, lsp.CodeAction)]


def applied(text: str, edit: lsp.WorkspaceEdit | None, uri: str) -> str:
    """The text with the edits of a document, positions in UTF-16."""
    assert edit is not None
    assert edit.document_changes is not None
    lines = [line.encode("utf-16-le") for line in text.splitlines(keepends=True)]
    starts = [sum(len(line) for line in lines[:i]) for i in range(len(lines) + 1)]
    raw = b"".join(lines)
    of_document = [change for change in edit.document_changes if isinstance(change, lsp.TextDocumentEdit) and change.text_document.uri == uri]
    changes = [one for change in of_document for one in change.edits]
    for one in sorted(changes, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
        assert isinstance(one, lsp.TextEdit)
        start, end = (starts[place.line] + 2 * place.character for place in (one.range.start, one.range.end))
        raw = raw[:start] + one.new_text.encode("utf-16-le") + raw[end:]
    return raw.decode("utf-16-le")


@pytest.mark.asyncio
async def test_a_file_while_it_is_typed(client: LanguageClient, tmp_path: Path) -> None:
    await client.initialize_session(configured())
    file = tmp_path / "train.py"
    (found,) = await opened(client, file, MOVED)
    assert (found.code, found.severity, found.source) == ("LL301", lsp.DiagnosticSeverity.Warning, "lora-lint")
    start = MOVED.splitlines()[2].index("model.cuda")
    assert (found.range.start.line, found.range.start.character) == (2, start + 1)  # the emoji counts twice
    assert found.related_information
    assert [info.location.uri for info in found.related_information] == [file.as_uri()] * 2

    (fix,) = await asked(client, file.as_uri(), found.range, lsp.CodeActionKind.QuickFix.value)
    assert fix.title == "lora-lint (LL301): Remove .cuda()"
    assert "cuda" not in applied(MOVED, fix.edit, file.as_uri())
    (everything,) = await asked(client, file.as_uri(), found.range, "source.fixAll")
    everything = await client.code_action_resolve_async(everything)
    assert "cuda" not in applied(MOVED, everything.edit, file.as_uri())

    place = lsp.HoverParams(lsp.TextDocumentIdentifier(file.as_uri()), found.range.start)
    hover = await client.text_document_hover_async(place)
    assert hover is not None
    assert isinstance(hover.contents, lsp.MarkupContent)
    assert hover.contents.value.startswith("**LL301 dispatched-model-moved**")

    change = lsp.TextDocumentContentChangeWholeDocument(CLEAN)
    client.diagnostics.clear()
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(2, file.as_uri()), [change]))
    assert not await published(client, file.as_uri())
    assert await asked(client, file.as_uri(), found.range) == []


@pytest.mark.asyncio
async def test_the_client_chooses_the_unit(client: LanguageClient, tmp_path: Path) -> None:
    answer = await client.initialize_session(configured(units=[lsp.PositionEncodingKind.Utf8]))
    assert answer.capabilities.position_encoding == lsp.PositionEncodingKind.Utf8
    (found,) = await opened(client, tmp_path / "train.py", MOVED)
    line = MOVED.splitlines()[2]
    assert found.range.start.character == len(line[: line.index("model.cuda")].encode())


@pytest.mark.asyncio
async def test_a_client_that_asks(client: LanguageClient, tmp_path: Path) -> None:
    await client.initialize_session(configured(pull=True))
    uri = (tmp_path / "train.py").as_uri()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "python", 1, MOVED)))
    first = await client.text_document_diagnostic_async(lsp.DocumentDiagnosticParams(lsp.TextDocumentIdentifier(uri)))
    assert isinstance(first, lsp.RelatedFullDocumentDiagnosticReport)
    assert [item.code for item in first.items] == ["LL301"]
    again = await client.text_document_diagnostic_async(
        lsp.DocumentDiagnosticParams(lsp.TextDocumentIdentifier(uri), previous_result_id=first.result_id)
    )
    assert isinstance(again, lsp.RelatedUnchangedDocumentDiagnosticReport)


@pytest.mark.asyncio
async def test_fast_typing_is_checked_once(client: LanguageClient, tmp_path: Path) -> None:
    await client.initialize_session(configured())
    uri = (tmp_path / "train.py").as_uri()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "python", 0, CLEAN)))
    for version in range(1, 30):
        change = lsp.TextDocumentContentChangeWholeDocument(MOVED if version % 2 else CLEAN)
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(version, uri), [change]))
    assert [found.code for found in await published(client, uri)] == ["LL301"]


@pytest.mark.asyncio
async def test_a_notebook_is_one_program_and_reported_by_cell(client: LanguageClient, tmp_path: Path) -> None:
    await client.initialize_session(configured())
    load, move = MOVED.splitlines(keepends=True)[:2], MOVED.splitlines(keepends=True)[2]
    texts = ["!nvidia-smi\n" + "".join(load), move + "print(1)\n"]
    uris = [f"vscode-notebook-cell:{(tmp_path / 'n.ipynb').as_posix()}#{i}" for i in range(2)]
    cells = [lsp.NotebookCell(lsp.NotebookCellKind.Code, uri) for uri in uris]
    notebook = lsp.NotebookDocument((tmp_path / "n.ipynb").as_uri(), "jupyter-notebook", 1, cells)
    documents = [lsp.TextDocumentItem(uri, "python", 1, text) for uri, text in zip(uris, texts, strict=True)]
    client.notebook_document_did_open(lsp.DidOpenNotebookDocumentParams(notebook, documents))
    await published(client, *uris)
    assert [len(client.diagnostics[uri]) for uri in uris] == [0, 1]
    (found,) = client.diagnostics[uris[1]]
    assert found.range.start.line == 0
    (fix,) = await asked(client, uris[1], found.range, lsp.CodeActionKind.QuickFix.value)
    assert "cuda" not in applied(texts[1], fix.edit, uris[1])
    (everything,) = await asked(client, uris[1], found.range, "notebook.source.fixAll")
    everything = await client.code_action_resolve_async(everything)
    assert "cuda" not in applied(texts[1], everything.edit, uris[1])
    assert "print(1)" in applied(texts[1], everything.edit, uris[1])


@pytest.mark.asyncio
async def test_what_cannot_be_checked_is_no_crash(client: LanguageClient, tmp_path: Path) -> None:
    await client.initialize_session(configured())
    (found,) = await opened(client, tmp_path / "broken.py", "import peft\nx = (\n")
    assert found.code == "LL900"
    (tmp_path / "pyproject.toml").write_text("[tool.lora-lint]\nselect = 3\n", encoding="utf-8")
    assert not await opened(client, tmp_path / "other.py", MOVED)
    assert any("pyproject.toml" in message.message for message in client.log_messages)
