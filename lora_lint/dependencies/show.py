"""A target and how it was derived, as text and as plain data, for ``lora-lint target``."""

from __future__ import annotations

from typing import Any

from lora_lint.dependencies import Derivation
from lora_lint.target import LIBRARIES, Target

UNSAID = "named nowhere"


def render_text(target: Target, derivation: Derivation) -> str:
    """A table of the target, then what each source says, nearest first."""
    rows: list[tuple[str, ...]] = [("library", "releases", "from")]
    unpinned = {said.library: said for said in reversed(derivation.said) if said.used}
    for library in LIBRARIES:
        versions = target.versions(library)
        span = str(versions[0]) if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
        if target.known(library):
            rows.append((library, span, target.origin(library)))
        else:
            rows.append((library, f"any ({span})", f"{unpinned[library].place} names no version" if library in unpinned else UNSAID))
    text = _table(rows)
    if derivation.said:
        found: list[tuple[str, ...]] = [("library", "says", "where", "kind", "")]
        found += [(said.library, said.versions or "no version", said.place, said.kind, said.why) for said in derivation.said]
        text += "\n" + _table(found)
    return text


def to_json(target: Target, derivation: Derivation) -> dict[str, Any]:
    """``target``: library to its releases and where they stand; ``said``: each entry found, nearest first; ``problems``: lines for people."""
    return {
        "target": {
            library: {
                "known": target.known(library),
                "releases": [str(version) for version in target.versions(library)],
                "origin": target.origin(library),
            }
            for library in LIBRARIES
        },
        "said": [
            {
                "library": said.library,
                "versions": said.versions,
                "path": str(said.path) if said.path else None,
                "line": said.line,
                "kind": said.kind,
                "used": said.used,
                "why": said.why,
            }
            for said in derivation.said
        ],
        "problems": list(derivation.problems),
    }


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows)
