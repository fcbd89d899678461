"""How often each rule was found, the most frequent first."""

from __future__ import annotations

import json
from collections import Counter

from lora_lint.report import Report, mark


def render(report: Report, *, as_json: bool = False) -> str:
    """A table, or a JSON array of ``code``, ``name``, ``count`` and ``fixable``."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    fixable = Counter(finding.code for finding in report.findings if mark(finding))
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if as_json:
        return json.dumps([{"code": code, "name": name, "count": count, "fixable": fixable[code]} for (code, name), count in rows], indent=2) + "\n"
    gutter = max((len(str(count)) for count in counts.values()), default=0)
    return "".join(
        f"{str(count).rjust(gutter)}  {code}  {name}{f'  ({fixable[code]} fixable)' if fixable[code] else ''}\n" for (code, name), count in rows
    )
