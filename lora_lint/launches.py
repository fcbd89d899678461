"""Launch lines: which scripts a shell text starts, by which launcher, and with what on the command line. Text in, records out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

_CONTINUED = re.compile(r"\\\r?\n[ \t]*#?")
_LAUNCHER = re.compile(r"\b(torchrun|deepspeed|accelerate[ \t]+launch|torch\.distributed\.(?:launch|run)|accelerate\.commands\.launch)\b")
_COUNTS = ("nproc_per_node", "num_processes", "num_gpus")
_HOSTS = ("nnodes", "num_machines", "num_nodes")
_YAML = re.compile(r"^[ \t]*([\w-]+)[ \t]*:[ \t]*['\"]?([^'\"#\n]*?)['\"]?[ \t]*(?:#.*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Launch:
    """A line that starts a script: the launcher, the script as written, the launcher's own options and the script's."""

    launcher: str
    script: str
    options: dict[str, str]
    arguments: dict[str, str]

    @property
    def processes(self) -> bool | None:
        """Whether it starts several processes; ``None`` where the line does not tell."""
        if any(self.options.get(name, "1") not in ("1", "1:1") for name in _HOSTS):
            return True
        count = next((self.options[name] for name in _COUNTS if name in self.options), None)
        if count is not None:
            return count not in ("1", "-1", "")
        if "multi_gpu" in self.options:
            return True
        if self.launcher == "deepspeed":
            chosen = self.options.get("include")
            return None if chosen is None else "," in chosen or "@" in chosen or ":" not in chosen
        return False if self.launcher == "torchrun" else None


def launches(text: str) -> Iterator[Launch]:
    """The launches in a shell text, a Makefile, or a comment."""
    for line in _CONTINUED.sub(" ", text).splitlines():
        found = _LAUNCHER.search(line)
        if found is None or (line.lstrip().startswith("#") and not line.lstrip("# \t!").startswith(found.group())):
            continue
        launch = _parse(found.group(1), line[found.end() :])
        if launch is not None:
            yield launch


def _parse(launcher: str, rest: str) -> Launch | None:
    try:
        words = shlex.split(rest, comments=True)
    except ValueError:
        words = rest.split()
    at = next((i for i, word in enumerate(words) if word.endswith(".py")), None)
    if at is None or any(word in (";", "&&", "||", "|") for word in words[:at]):
        return None
    name = "torchrun" if launcher.startswith("torch") else "accelerate" if launcher.startswith("accelerate") else "deepspeed"
    return Launch(name, words[at], _options(words[:at]), _options(words[at + 1 :]))


def _options(words: list[str]) -> dict[str, str]:
    """``--name value`` and ``--name=value``; a name without a value has an empty one."""
    found: dict[str, str] = {}
    for i, word in enumerate(words):
        if word in (";", "&&", "||", "|", ">", "2>&1"):
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            following = words[i + 1] if i + 1 < len(words) and not words[i + 1].startswith("--") else ""
            found[name.replace("-", "_")] = value if equals else following
    return found


def same_script(written: str, name: str, folder: str) -> bool:
    """Whether a script as written in a launch line is the file ``folder/name``: as far as the line says where it is."""
    path = PurePosixPath(written)
    if path.name != name:
        return False
    parts = [part for part in path.parent.parts if part not in (".", "..", "/") and not part.startswith(("$", "~"))]
    here = list(PurePosixPath(folder).parts)
    return here[len(here) - len(parts) :] == parts if parts else True


def settings(text: str) -> dict[str, str]:
    """The plain ``key: value`` lines of an accelerate configuration."""
    return dict(_YAML.findall(text))
