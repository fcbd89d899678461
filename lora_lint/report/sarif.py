"""SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), in the way that GitHub's code scanning reads it.

Paths are relative to the checkout. ``primaryLocationLineHash`` is left to GitHub's upload action, which warns at each value that is not its own,
and ``automationDetails`` to its ``category``, which they would override.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from lora_lint import __version__, codes, pages
from lora_lint.findings import Finding, Severity, Span, Step
from lora_lint.report import Report
from lora_lint.report.entries import Entry, details, entries, offered
from lora_lint.report.places import Sources, replacements, uri
from lora_lint.report.places import root as checkout

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}
# GitHub's limits.
_DESCRIPTION, _TAGS, _STEPS = 1024, 10, 1000


def render(report: Report) -> str:
    """One run; suppressed findings only if ``Report.suppressed``, since GitHub shows them as open."""
    found = list(entries(report, suppressed=report.suppressed))
    used = sorted({entry.finding.code for entry in found})
    writer = _Writer(report, used)
    run = {
        "tool": {"driver": {"name": "lora-lint", "version": __version__, "semanticVersion": __version__, "rules": [_rule(code) for code in used]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the checkout."}}},
        "invocations": [_invocation(report)],
        "results": [writer.result(entry) for entry in found],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=True) + "\n"


def _invocation(report: Report) -> dict[str, Any]:
    """Whether all files could be checked, and why not."""
    failed = [f"{file.path}: {file.error.message}" for file in report.files if file.error]
    notes = [{"level": "error", "message": {"text": _text(text)}} for text in failed]
    return {"executionSuccessful": not failed, **({"toolExecutionNotifications": notes} if notes else {})}


def _rule(code: str) -> dict[str, Any]:
    """What there is to know of a rule, from its page."""
    name = codes.names().get(code, code)
    try:
        page = pages.page(code)
    except (pages.PageError, KeyError):
        page = pages.Page(code, name, {}, "")
    title = page.summary or name.replace("-", " ")
    severity = Severity(page.meta["severity"]) if page.meta.get("severity") in [one.value for one in Severity] else Severity.WARNING
    return {
        "id": code,
        "name": "".join(word.title() for word in name.split("-")),
        "shortDescription": {"text": _sentence(f"{name}: {title}")},
        "fullDescription": {"text": _sentence(title[:1].upper() + title[1:])},
        "help": {
            "text": f"{title}\n\n`lora-lint explain {code}` prints the page of this rule.",
            "markdown": f"# {code} {name}\n\n{title}\n\n{page.text}".rstrip(),
        },
        "defaultConfiguration": {"level": severity.value},
        "properties": {
            "tags": ["fine-tuning", *map(str, page.meta.get("libraries", ()))][:_TAGS],
            "precision": "high",
            "problem.severity": _PROBLEMS[severity],
        },
    }


def _sentence(text: str) -> str:
    short = text if len(text) < _DESCRIPTION else text[: _DESCRIPTION - 2] + "…"
    return short.rstrip(".") + "."


def _text(text: str) -> str:
    """Plain text of a message, in which ``[words](target)`` would be a link."""
    return re.sub(r"\[(?=[^\[\]]*\]\()", r"\\[", text)


class _Writer:
    """Writes results; ``rules`` are the codes in the order of the run's rules."""

    def __init__(self, report: Report, rules: list[str]) -> None:
        self._report = report
        self._rules = {code: index for index, code in enumerate(rules)}
        self._sources = Sources(report)
        self._root = checkout()

    def result(self, entry: Entry) -> dict[str, Any]:
        finding = entry.finding
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": self._rules[finding.code],
            "level": finding.severity.value,
            "message": {"text": _text("\n".join(details(finding)))},
            "locations": [self._location(finding)],
            "partialFingerprints": {"loraLint/v1": entry.fingerprint},
        }
        if finding.flow:
            steps = self._steps(finding)
            result["codeFlows"] = [{"threadFlows": [{"locations": [{"location": step} for step in steps]}]}]
            result["relatedLocations"] = [{"id": number, **step} for number, step in enumerate(steps, 1)]
        if fix := self._fix(entry):
            result["fixes"] = [fix]
        if self._report.suppressed:
            result["suppressions"] = [{"kind": "inSource"}] if entry.suppressed else []
        return result

    def _steps(self, finding: Finding) -> list[dict[str, Any]]:
        """The dataflow; it ends where the finding stands."""
        steps: Iterable[Step] = finding.flow[-_STEPS:]
        last = finding.flow[-1]
        if (last.path, last.span) != (finding.path, finding.span):
            steps = [*finding.flow[-_STEPS + 1 :], Step(finding.span, finding.message, finding.path)]
        return [self._location(step, step.message) for step in steps]

    def _fix(self, entry: Entry) -> dict[str, Any] | None:
        fix = offered(entry, self._report)
        made = replacements(fix, entry.source) if fix and entry.source else []
        if fix is None or not made:
            return None
        edits = [{"deletedRegion": _region(one.span), "insertedContent": {"text": one.text}} for one in made]
        change = {"artifactLocation": self._artifact(entry.finding.path), "replacements": edits}
        return {"description": {"text": _text(fix.title)}, "artifactChanges": [change]}

    def _location(self, at: Finding | Step, message: str = "") -> dict[str, Any]:
        place = self._sources.place(at)
        physical = {"artifactLocation": self._artifact(at.path), "region": _region(place.file)}
        location: dict[str, Any] = {"physicalLocation": physical}
        if place.cell is not None:
            location["logicalLocations"] = [{"name": f"cell {place.cell}", "kind": "module"}]
        if message:
            location["message"] = {"text": _text(message)}
        return location

    def _artifact(self, path: str) -> dict[str, str]:
        address = uri(path, self._root)
        return {"uri": address} if address.startswith("file:") else {"uri": address, "uriBaseId": "%SRCROOT%"}


def _region(span: Span) -> dict[str, int]:
    return {"startLine": span.start.line, "startColumn": span.start.column, "endLine": span.end.line, "endColumn": span.end.column}
