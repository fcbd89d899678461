"""The releases of a library and their Python sources, from the package index; nothing is installed, imported or run.

Of each wheel only the ``.py`` files are kept, in a cache folder, so that a release is downloaded once.
"""

from __future__ import annotations

import io
import json
import os
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from packaging.version import Version

INDEX = "https://pypi.org/pypi/{name}/json"
FILES = "https://pypi.org/simple/{name}/"  # what relative addresses of a mirror are relative to
FIRST = {"transformers": "4.26", "peft": "0.2", "trl": "0.4", "accelerate": "0.16", "bitsandbytes": "0.37"}


@dataclass(frozen=True)
class Release:
    """A final release: its version, the day of its upload (ISO), and its smallest wheel. Yanked ones count: people have them installed."""

    library: str
    version: Version
    day: str
    url: str


def cache() -> Path:
    """The folder of sources that were read before: ``LORA_LINT_API_CACHE`` or one in the user's cache folder."""
    return Path(os.environ.get("LORA_LINT_API_CACHE") or Path.home() / ".cache" / "lora-lint-api")


def releases(library: str) -> list[Release]:
    """All final releases with a wheel, ascending. Raises ``OSError`` where the index cannot be reached."""
    with urllib.request.urlopen(INDEX.format(name=library), timeout=60) as answer:
        listed = json.load(answer)["releases"]
    found = []
    for text, files in listed.items():
        version = Version(text)
        wheels = sorted((f["size"], f["url"], f["upload_time"][:10]) for f in files if f["packagetype"] == "bdist_wheel")
        if wheels and not version.is_prerelease and version >= Version(FIRST[library]):
            found.append(Release(library, version, wheels[0][2], urljoin(FILES.format(name=library), wheels[0][1])))
    return sorted(found, key=lambda release: release.version)


def sources(release: Release) -> Iterator[tuple[str, str]]:
    """(path within the wheel, text) of each Python file of the library's package. Raises ``OSError`` where it cannot be downloaded."""
    kept = cache() / f"{release.library}-{release.version}.zip"
    if not kept.is_file():
        _fetch(release, kept)
    with zipfile.ZipFile(kept) as archive:
        for name in sorted(archive.namelist()):
            yield name, archive.read(name).decode("utf-8", "replace")


def _fetch(release: Release, kept: Path) -> None:
    with urllib.request.urlopen(release.url, timeout=300) as answer:
        wheel = zipfile.ZipFile(io.BytesIO(answer.read()))
    kept.parent.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}.part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        for name in wheel.namelist():
            if name.startswith(f"{release.library}/") and name.endswith(".py"):
                archive.writestr(name, wheel.read(name))
    part.replace(kept)
