"""Where the script's files are: real ones are read in their place, what it writes elsewhere goes into the scratch folder and is found again there."""

from __future__ import annotations

import os
from typing import Any


class Paths:
    """Places of files, seen from the script: its folder, the one it is started in, and the scratch folder."""

    def __init__(self, root: str, folders: list[str]) -> None:
        self.root = os.path.realpath(root)
        self.folders = [folder for folder in dict.fromkeys(folders) if folder]
        self._outside = os.path.join(self.root, "outside")

    def inside(self, path: Any) -> bool:
        """Whether a path lies in the scratch folder."""
        real = os.path.realpath(os.fspath(path))
        return real == self.root or real.startswith(self.root + os.sep)

    def redirected(self, path: Any) -> str:
        """Where a path outside of the scratch folder is written instead; one that lies in it stays."""
        text = os.fsdecode(path)
        if self.inside(text) or text.startswith("/dev/"):
            return text
        whole = os.path.abspath(os.path.expanduser(text))
        return os.path.join(self._outside, os.path.splitdrive(whole)[1].lstrip("\\/"))

    def found(self, path: Any) -> str | None:
        """An existing file or folder of this name: as it is, as written by the script, or beside it. ``None`` where there is none."""
        text = os.path.expanduser(os.fsdecode(path))
        places = [text, self.redirected(text)]
        if not os.path.isabs(text):
            places += [os.path.join(folder, text) for folder in self.folders]
        return next((place for place in places if text and _exists(place)), None)


_exists = os.path.exists  # as it is now: what the script sees of it is replaced


def is_path(value: Any) -> bool:
    """Whether something is the name of a file: no descriptor, no stream."""
    return isinstance(value, (str, bytes, os.PathLike))
