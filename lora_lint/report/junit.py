"""JUnit's XML: a suite for each file, a failed test case for each finding, and a passed one for a file without any."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from lora_lint.engine import FileResult
from lora_lint.findings import Finding, Severity
from lora_lint.report import Report
from lora_lint.report.entries import details
from lora_lint.report.places import Sources, relative, root

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """The document, in ASCII. A note is no failure: it is output of a test case that passes."""
    sources, base = Sources(report), root()
    suites = [_suite(file, sources, base) for file in report.files]
    top = ET.Element("testsuites", {"name": "lora-lint", **_counts([case for suite in suites for case in suite])})
    top.extend(suites)
    ET.indent(top)
    document: bytes = ET.tostring(top, encoding="us-ascii", xml_declaration=True)
    return document.decode("ascii") + "\n"


def _suite(file: FileResult, sources: Sources, base: str) -> ET.Element:
    path = _legal(relative(file.path, base))
    cases = [_case(finding, path, sources) for finding in file.findings]
    if not cases:
        case = ET.Element("testcase", name=path, classname=path, file=path, time="0")
        if file.error:
            ET.SubElement(case, "error", type="error", message=_legal(file.error.message))
        cases = [case]
    suite = ET.Element("testsuite", {"name": path, **_counts(cases)})
    suite.extend(cases)
    return suite


def _case(finding: Finding, path: str, sources: Sources) -> ET.Element:
    place = sources.place(finding)
    where = place.text.removeprefix(place.path)
    case = ET.Element(
        "testcase", name=f"{finding.code} {finding.name}{where}", classname=path, file=path, line=str(place.file.start.line), time="0"
    )
    text = _legal("\n".join((f"{path}{where}: {finding.severity.value} {finding.code} {finding.name}", *details(finding))))
    if finding.severity is Severity.NOTE:
        ET.SubElement(case, "system-out").text = text
    else:
        ET.SubElement(case, "failure", type=finding.severity.value, message=_legal(finding.message)).text = text
    return case


def _counts(cases: list[ET.Element]) -> dict[str, str]:
    failures = sum(case.find("failure") is not None for case in cases)
    errors = sum(case.find("error") is not None for case in cases)
    return {"tests": str(len(cases)), "failures": str(failures), "errors": str(errors), "skipped": "0", "time": "0"}


def _legal(text: str) -> str:
    """Text without what XML 1.0 cannot hold."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
