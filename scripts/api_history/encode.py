"""From the modules of every release to one data file: for each name the releases on which it is the same, and what it is there."""

from __future__ import annotations

import hashlib
import json
import pickle
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import read
import wheels
from read import Module, Record

# Neither imported by scripts nor looked into.
_LEFT_OUT = re.compile(r"/convert_|/modular_|(^|/)(tests?|benchmarks?)/|/dummy_|/test_utils|/testing_utils")
# Names only: model code, and what is not made for calling.
_SKIMMED = re.compile(
    r"^transformers/models/(?!auto/)|^transformers/(commands|cli|onnx|kernels|sagemaker)/|^(accelerate|trl)/(commands|cli|scripts)/|"
    r"^bitsandbytes/(triton|research)/"
)
_MODEL = re.compile(r"^(transformers\.models\.[^.]+(?:\.[^.]+(?=\.))?)")


class Library:
    """One release of a library: its modules and what each exports."""

    def __init__(self, name: str, modules: dict[str, tuple[Module, bool]]) -> None:
        self.name = name
        self.modules = modules
        self._exports: dict[str, dict[str, Record]] = {}

    def absolute(self, module: str, level: int, name: str) -> str:
        """The full name of a module that is imported relatively."""
        if not level:
            return name
        base = module if self.modules[module][1] else module.rpartition(".")[0]
        for _ in range(level - 1):
            base = base.rpartition(".")[0]
        return f"{base}.{name}" if name else base

    def exports(self, module: str, above: tuple[str, ...] = ()) -> dict[str, Record]:
        """Each name of a module: its own record, or ``"module:name"`` elsewhere defined; ``"*"`` where a foreign star import may add any."""
        if module in self._exports or module in above or module not in self.modules:
            return self._exports.get(module, {})
        facts, _ = self.modules[module]
        made: dict[str, Record] = {}
        if facts.lazy is not None:
            for part, names in facts.lazy.items():
                made.update({name: f"{module}.{part}:{name}" for name in names})
            if facts.tree is not None:
                root = f"{module}.{facts.tree}" if facts.tree else module
                for other, (theirs, package) in self.modules.items():
                    if other.startswith(root + ".") and not package:
                        for name in [*(theirs.listed or []), *theirs.required]:
                            made.setdefault(name, f"{other}:{name}")
            made["__version__"] = 0
        else:
            for level, source in facts.stars:
                other = self.absolute(module, level, source)
                if other.partition(".")[0] != self.name:
                    made["*"] = other
                    continue
                listed = self.modules[other][0].listed if other in self.modules else None
                for name in self.exports(other, (*above, module)):
                    if name in listed if listed is not None else not name.startswith("_"):
                        made[name] = f"{other}:{name}"
            for name, (level, source, original) in facts.imports.items():
                made[name] = f"{self.absolute(module, level, source)}:{original}"
            for name, record in facts.names.items():
                made[name] = f"{module}{record}" if isinstance(record, str) and record.startswith(":") else record
            for name in facts.dynamic:
                made.setdefault(name, 0)
        self._exports[module] = made
        return made


class Reader:
    """Reads releases; a file that did not change is parsed once."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.file = wheels.cache() / f"{library}.pickle"
        self.salt = hashlib.sha256(Path(read.__file__).read_bytes()).hexdigest()
        self.parsed: dict[bytes, Any] = {}
        if self.file.is_file():
            salt, parsed = pickle.loads(self.file.read_bytes())
            self.parsed = parsed if salt == self.salt else {}

    def save(self) -> None:
        """Keep what was parsed for the next run."""
        self.file.write_bytes(pickle.dumps((self.salt, self.parsed)))

    def _once(self, kind: str, text: str, function: Any) -> Any:
        key = hashlib.sha1(f"{kind}\0{text}".encode()).digest()
        if key not in self.parsed:
            self.parsed[key] = function(text)
        return self.parsed[key]

    def release(self, release: wheels.Release) -> tuple[Library, set[str]]:
        """A release's modules, and the names that its models' configurations know."""
        modules: dict[str, tuple[Module, bool]] = {}
        settings: set[str] = set()
        for path, text in wheels.sources(release):
            if _LEFT_OUT.search(path):
                continue
            package = path.endswith("/__init__.py")
            name = path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
            skimmed = bool(_SKIMMED.search(path)) and not package
            modules[name] = (self._once("skim" if skimmed else "read", text, read.skim if skimmed else read.read), package)
            if "/configuration_" in path:
                settings |= self._once("settings", text, read.settings)
        return Library(self.library, modules), settings


Key = tuple[str, str, str, str]  # module, kind (n: a name, m: a method, k: shapes of calls), class, name


def _entries(library: Library) -> Iterator[tuple[Key, Record]]:
    for module, (facts, _) in library.modules.items():
        yield (module, "n", "", ""), 0
        for name, record in library.exports(module).items():
            yield (module, "n", "", name), record
        for kind, held in (("m", facts.methods), ("k", facts.shapes)):
            for cls, members in held.items():
                for name, record in members.items():
                    if isinstance(record, str):  # a method that the class takes from another module
                        source, _, original = record.partition(":")
                        level = len(source) - len(source.lstrip("."))
                        record = f"{library.absolute(module, level, source.lstrip('.'))}:{original}"
                    yield (module, kind, cls, name), record


def history(library: str, say: Any = print) -> bytes:
    """The data file of a library. Raises ``OSError`` where the index or a wheel cannot be had."""
    reader = Reader(library)
    listed = wheels.releases(library)
    runs: dict[Key, list[Record]] = {}
    last: dict[Key, str] = {}
    settings: set[str] = set()
    for index, release in enumerate(listed):
        made, known = reader.release(release)
        settings |= known
        now: dict[Key, str] = {}
        for key, record in _entries(made):
            text = now[key] = json.dumps(record, sort_keys=True)
            if last.get(key) != text:
                runs.setdefault(key, []).extend((index, record))
        for key in last.keys() - now.keys():
            runs[key].extend((index, None))
        last = now
        say(f"{library} {release.version}: {len(made.modules)} modules", flush=True)
    reader.save()
    return _pack(library, listed, runs, settings)


def _pack(library: str, listed: list[wheels.Release], runs: dict[Key, list[Record]], settings: set[str]) -> bytes:
    shards: dict[str, dict[str, Any]] = {}
    for (module, kind, cls, name), found in sorted(runs.items()):
        model = _MODEL.match(module)
        shard = shards.setdefault(model[1] if model else module, {})
        held = shard.setdefault(module, {}).setdefault(kind, {})
        (held.setdefault(cls, {}) if kind != "n" else held)[name] = found
    body, index = b"", {}
    for name, shard in shards.items():
        packed = zlib.compress(json.dumps(shard, separators=(",", ":")).encode(), 9)
        index[name] = (len(body), len(packed))
        body += packed
    header = {
        "library": library,
        "releases": [str(release.version) for release in listed],
        "days": [release.day for release in listed],
        "shards": index,
        "settings": " ".join(sorted(settings)),
    }
    packed = zlib.compress(json.dumps(header, separators=(",", ":")).encode(), 9)
    return len(packed).to_bytes(4, "big") + packed + body
