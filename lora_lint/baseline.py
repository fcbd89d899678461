"""Baselines: the findings that an old code base starts with, so that only new ones are reported.

A baseline counts findings by file and rule. It holds no line numbers, so that edits elsewhere in a file do not make it stale. Where a file has as
many findings of a rule as the baseline allows, or fewer, they are hidden; where it has more, all of them are shown, since nobody can tell which is
new. An entry that allows more than there are is stale: it must be pruned, or it would hide the next fault.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lora_lint.engine import FileResult
from lora_lint.findings import Finding

DEFAULT = "lora-lint-baseline.json"

Counts = dict[str, dict[str, int]]


class BaselineError(Exception):
    """A baseline that cannot be used; the text is one clear line that names the file."""


@dataclass(frozen=True)
class Baseline:
    """What a file of counts allows; ``counts`` goes from a path, relative to ``root`` with forward slashes, to codes and their numbers."""

    file: Path
    counts: Counts = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Raises ``BaselineError``."""
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise BaselineError(f"{file}: cannot read: {error.strerror or error}; --write-baseline makes it") from None
        except (ValueError, RecursionError):
            raise BaselineError(f"{file}: not a baseline: no JSON") from None
        if not isinstance(data, dict) or data.get("version") != 1 or not _counts(data.get("files")):
            raise BaselineError(f"{file}: not a baseline of this version of lora-lint")
        return cls(file, data["files"])

    @property
    def root(self) -> Path:
        return self.file.absolute().parent

    def key(self, path: str) -> str:
        """The name that a displayed path has in the file."""
        name = Path(os.path.relpath(os.path.abspath(path), self.root)).as_posix()
        return os.fsencode(name).decode("utf-8", "backslashreplace")  # the file is UTF-8 whatever the names are

    def apply(self, results: Iterable[FileResult]) -> tuple[list[FileResult], list[str]]:
        """The results without what is allowed, and a line for each stale entry of a file that was checked or is gone."""
        kept, stale = [], []
        checked = set()
        for result in results:
            key = self.key(result.path)
            checked.add(key)
            allowed = self.counts.get(key, {}) if result.error is None else {}
            found = Counter(finding.code for finding in result.findings)
            hidden = [finding for finding in result.findings if found[finding.code] <= allowed.get(finding.code, 0)]
            shown = [finding for finding in result.findings if finding not in hidden]
            kept.append(replace(result, findings=shown, suppressed=[*result.suppressed, *hidden]))
            stale += [f"{key}: {code}: {count} allowed, {found[code]} found" for code, count in sorted(allowed.items()) if found[code] < count]
        stale += [f"{key}: no such file" for key in sorted(self.counts) if key not in checked and not self._there(key)]
        return kept, stale

    def pruned(self, results: Iterable[FileResult]) -> Baseline:
        """The baseline that allows no more than there is; files that were not checked stay as they are."""
        counts = {key: dict(codes) for key, codes in self.counts.items() if self._there(key)}
        for result in results:
            key = self.key(result.path)
            if key in counts and result.error is None:
                found = Counter(finding.code for finding in result.findings)
                counts[key] = {code: min(count, found[code]) for code, count in counts[key].items() if found[code]}
        return replace(self, counts=counts)

    def of(self, results: Iterable[FileResult]) -> Baseline:
        """The baseline that allows all that was found; files that were not checked stay as they are."""
        counts = {key: dict(codes) for key, codes in self.counts.items() if self._there(key)}
        for result in results:
            if result.error is None:
                counts[self.key(result.path)] = dict(Counter(finding.code for finding in result.findings if _may_wait(finding)))
        return replace(self, counts=counts)

    def text(self) -> str:
        """The file's text: sorted, one line an entry, without empty entries."""
        files = {key: dict(sorted(codes.items())) for key, codes in sorted(self.counts.items()) if codes}
        return json.dumps({"version": 1, "files": files}, indent=2, ensure_ascii=False) + "\n"

    def _there(self, key: str) -> bool:
        """Whether the file of a name is there; one that is not UTF-8 cannot be asked for, so it is kept."""
        return "\\x" in key or (self.root / key).exists()

    def __len__(self) -> int:
        return sum(sum(codes.values()) for codes in self.counts.values())


def _may_wait(finding: Finding) -> bool:
    """Whether a finding may stand in a baseline: those about suppressions and unreadable files are mended, not kept."""
    return not finding.code.startswith("LL9")


def _counts(files: object) -> bool:
    return isinstance(files, Mapping) and all(
        isinstance(codes, Mapping) and all(isinstance(count, int) and count > 0 for count in codes.values()) for codes in files.values()
    )
