"""The files of a commit on disk, for reading: those that the check may look at, and nothing else."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path, PurePosixPath

from lora_lint.discovery import SUFFIXES
from lora_lint.review.http import ForgeError

_TEXTS = (*SUFFIXES, ".toml", ".txt", ".in", ".lock", ".cfg", ".yml", ".yaml")
_NAMES = ("Pipfile", "Dockerfile")
_LARGEST = 16 * 1024 * 1024  # bytes of one file
_MOST = 200_000  # files
_TOTAL = 1 << 30  # bytes of all files


def unpack(archive: bytes, root: Path) -> None:
    """Put the files of an archive, without its topmost folder, into the new folder ``root``; links and devices are left out.

    The folder is marked as a repository, since the search for dependency files ends there. Raises ``ForgeError`` for a broken archive.
    """
    (root / ".git").mkdir(parents=True)
    left = _TOTAL
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            for number, member in enumerate(tar):
                parts = PurePosixPath(member.name).parts[1:]
                if number >= _MOST or left < 0:
                    raise ForgeError("the archive of a commit is too large")
                if not member.isreg() or member.size > _LARGEST or not _wanted(parts):
                    continue
                left -= member.size
                stream = tar.extractfile(member)
                if stream is not None:
                    file = root.joinpath(*parts)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(stream.read())
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ForgeError(f"the archive of a commit cannot be read: {error}") from None


def _wanted(parts: tuple[str, ...]) -> bool:
    if not parts or any(part in ("..", ".", ".git") or "\\" in part or ":" in part for part in parts):
        return False
    name = parts[-1]
    return name.endswith(_TEXTS) or name.startswith(_NAMES)
