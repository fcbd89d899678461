"""What a script says itself: its PEP 723 block, and the pip lines of a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lora_lint import _toml
from lora_lint.dependencies.entries import Entry, Lines, Reading, requirements

# The pattern of PEP 723, for blocks of type "script".
_BLOCK = re.compile(r"^# /// script[ \t]*\r?$\s(?P<content>(?:^#(?:| .*)$\s)+)^# ///[ \t]*\r?$", re.MULTILINE)


def read_block(text: str, file: Path, reading: Reading) -> Iterator[Entry]:
    """The dependencies of the inline metadata (PEP 723)."""
    if "# /// script" not in text:
        return
    blocks = list(_BLOCK.finditer(text))
    if len(blocks) > 1:
        reading.problem(file, text.count("\n", 0, blocks[1].start()) + 1, "more than one script block (PEP 723)")
        return
    for block in blocks:
        rows = block["content"].splitlines(keepends=True)
        content = "".join(row[2:] if row.startswith("# ") else row[1:] for row in rows)
        first = text.count("\n", 0, block.start("content")) + 1
        try:
            data = _toml.loads(content)
        except _toml.TOMLDecodeError:
            reading.problem(file, first, "the script block (PEP 723) is not valid TOML")
            return
        listed = data.get("dependencies")
        for entry in requirements(listed if isinstance(listed, list) else (), Lines(content), file, reading):
            yield Entry(entry.library, entry.versions, entry.line + first - 1, file, entry.marker)


def block_pythons(text: str) -> str:
    """The ``requires-python`` of the block; empty where there is none."""
    found = _BLOCK.search(text) if "# /// script" in text else None
    said = re.search(r"""^# requires-python\s*=\s*["']([^"'\n]*)["']""", found["content"], re.MULTILINE) if found else None
    return said[1] if said else ""
