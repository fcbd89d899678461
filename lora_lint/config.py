"""Settings: where they stand, what they may say, and what they come to for one file.

``[tool.lora-lint]`` in ``pyproject.toml``, or ``lora-lint.toml`` / ``.lora-lint.toml`` with the same keys at top level. The nearest file above
the checked one that has our section wins, whole; globs in it are relative to its folder.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pathspec

from lora_lint import _toml, codes, pages, report
from lora_lint.findings import Severity
from lora_lint.target import Known, Target, TargetError

ANY, INSTALLED = "any", "installed"  # the targets that are no requirements
FORMATS = tuple(report.FORMATS)
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".hypothesis", ".ipynb_checkpoints", ".lora_lint_cache", ".mypy_cache", ".nox", ".pyenv",
    ".pytest_cache", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__", "_build", "build", "dist", "node_modules",
    "site-packages", "venv",
)  # fmt: skip


class ConfigError(Exception):
    """A configuration that cannot be used; the text is one clear line that names the file."""


@dataclass(frozen=True)
class Config:
    """One configuration file's settings, or the defaults; ``root`` is the folder that its globs are relative to.

    ``None`` means that the file does not say.
    """

    root: Path
    origin: str = ""
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    target: tuple[str, ...] = ()
    severity: Severity | None = None
    fail_on: Severity | None = None
    output_format: str | None = None
    fix: bool = False
    unsafe_fixes: bool = False
    preview: bool = False
    baseline: str | None = None

    @cached_property
    def _excluded(self) -> pathspec.GitIgnoreSpec:
        return globs([*self.exclude, *self.extend_exclude])

    @cached_property
    def _per_file(self) -> list[tuple[bool, pathspec.GitIgnoreSpec, frozenset[str]]]:
        return [(glob.startswith("!"), globs([glob.removeprefix("!")]), codes.select(ignored)) for glob, ignored in self.per_file_ignores]

    def excludes(self, path: Path, *, folder: bool = False, below: Path | None = None) -> bool:
        """Whether an absolute path is excluded; its folders between ``root`` (or ``below``) and itself count too."""
        relative = _relative(path, below or self.root) or path.name
        return self._excluded.match_file(relative + "/" if folder else relative)

    def file_ignores(self, path: Path) -> frozenset[str]:
        """The codes that ``per-file-ignores`` switches off in an absolute path."""
        relative = _relative(path, self.root) or path.name
        ignored: set[str] = set()
        for negated, spec, off in self._per_file:
            if spec.match_file(relative) != negated:
                ignored |= off
        return frozenset(ignored)


@dataclass(frozen=True)
class Overrides:
    """What the command line says; ``None`` or empty means that it does not. ``python`` is the environment that ``installed`` means."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    python: Path | None = None
    severity: Severity | None = None
    preview: bool | None = None


@dataclass(frozen=True)
class Settings:
    """What is in force for a file: the codes to look for, the target, the lowest severity to show, and the config it came from.

    ``detect`` says whether libraries that the target leaves open are looked up in the dependency files around the file.
    """

    codes: frozenset[str]
    target: Target = field(default_factory=Target.unknown)
    severity: Severity = Severity.WARNING
    config: Config | None = None
    detect: bool = True

    def for_file(self, path: Path | None) -> frozenset[str]:
        """The codes to look for in one file."""
        if self.config is None or path is None:
            return self.codes
        return self.codes - self.config.file_ignores(path)


def settings(config: Config, overrides: Overrides | None = None) -> Settings:
    """Config and command line together. Raises ``ConfigError`` for an unknown code or a target that cannot be used."""
    over = overrides or Overrides()
    try:
        chosen = codes.select(over.select or config.select) | codes.select([*config.extend_select, *over.extend_select])
        # A code selected on the command line is meant, even if the file ignores it.
        ignored = codes.select([*config.ignore, *over.ignore]) - (codes.select(over.select) - codes.select(over.ignore))
        asked = _asked(over.target, "--target", over.python)
        target = asked.over(_asked(config.target, config.origin, None).restricted)
    except (ValueError, TargetError) as error:
        raise ConfigError(str(error)) from None
    if not (config.preview if over.preview is None else over.preview):
        # A rule that is named is meant; ALL and prefixes do not mean those in preview.
        named = {codes.resolve(one) for one in (*over.select, *over.extend_select, *config.select, *config.extend_select)}
        chosen -= pages.in_preview() - named
    detect = ANY not in (*over.target, *config.target)
    return Settings(chosen - ignored, target, over.severity or config.severity or Severity.WARNING, config, detect)


def _asked(specs: tuple[str, ...], origin: str, python: Path | None) -> Target:
    """The target that one place asks for; requirements win over the installed environment."""
    target = Target.parse([(spec, origin) for spec in specs if spec not in (ANY, INSTALLED)])
    if python is None and INSTALLED not in specs:
        return target
    return target.over(_installed(python))


@lru_cache(maxsize=8)
def _installed(python: Path | None) -> Known:
    from lora_lint.dependencies.installed import environment

    return environment(python, Path.cwd()).known


class Configs:
    """Finds and keeps the config of each folder. ``forced`` is used for all files; ``isolated`` means the defaults only."""

    def __init__(self, *, forced: Path | None = None, isolated: bool = False, cwd: Path | None = None) -> None:
        self._cwd = (cwd or Path.cwd()).absolute()
        self._found: dict[Path, Config] = {}
        self._fixed: Config | None = None
        if isolated:
            self._fixed = Config(self._cwd)
        elif forced is not None:
            read = load(forced)
            if read is None:
                raise ConfigError(f"{forced}: no [tool.lora-lint] section")
            self._fixed = read

    def of(self, folder: Path) -> Config:
        """The config for files in an absolute folder. Raises ``ConfigError``."""
        if self._fixed is not None:
            return self._fixed
        found = self._found.get(folder)
        if found is None:
            found = load_folder(folder)
            if found is None:
                found = self.of(folder.parent) if folder.parent != folder else Config(self._cwd)
            self._found[folder] = found
        return found


def load_folder(folder: Path) -> Config | None:
    """The config that a folder declares, if any. Raises ``ConfigError``."""
    for name in (".lora-lint.toml", "lora-lint.toml", "pyproject.toml"):
        file = folder / name
        try:
            present = file.is_file()
        except OSError:
            present = False
        if present and (config := load(file)) is not None:
            return config
    return None


def load(file: Path) -> Config | None:
    """Read one config file; ``None`` for a pyproject.toml without our section. Raises ``ConfigError``."""
    try:
        data = _toml.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not UTF-8: {error.reason}") from None
    except _toml.TOMLDecodeError as error:
        if file.name == "pyproject.toml" and "lora-lint" not in file.read_text(encoding="utf-8-sig"):
            return None  # somebody else's broken file has nothing to say to us
        raise ConfigError(f"{file}: not valid TOML: {error}") from None
    if file.name == "pyproject.toml":
        tool = data.get("tool")
        section = tool.get("lora-lint") if isinstance(tool, dict) else None
        if section is None:
            return None
    else:
        section = data
    return _parse(section, file)


def _parse(section: object, file: Path) -> Config:
    if not isinstance(section, dict):
        raise ConfigError(f"{file}: [tool.lora-lint] must be a table")
    values: dict[str, Any] = {}
    for key, value in section.items():
        read = _KEYS.get(key)
        if read is None:
            near = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(_KEYS)}"
            raise ConfigError(f"{file}: unknown key {key!r} in the lora-lint settings: {hint}")
        try:
            values[key.replace("-", "_")] = read(value)
        except ValueError as error:
            raise ConfigError(f"{file}: {key}: {error}") from None
    try:
        config = Config(file.parent.absolute(), file.name, **values)
        settings(config)
        _ = config._excluded, config._per_file
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{file}: {error}") from None
    return config


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"a list of strings is expected, not {value!r}")
    return tuple(value)


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"true or false is expected, not {value!r}")
    return value


def _one_of(value: object, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"one of {', '.join(allowed)} is expected, not {value!r}")
    return value


def _severity(value: object) -> Severity:
    return Severity(_one_of(value, tuple(one.value for one in Severity)))


def _per_file(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ValueError(f"a table of globs is expected, not {value!r}")
    return tuple((glob, _strings(selectors)) for glob, selectors in value.items())


def _target(value: object) -> tuple[str, ...]:
    """``["transformers==4.44.2"]``, ``{transformers = "==4.44.2"}`` (a bare version is a pin), ``"installed"`` or ``"any"``."""
    if value in (ANY, INSTALLED):
        return (str(value),)
    if not isinstance(value, dict):
        return _strings(value)
    specs = []
    for name, wanted in value.items():
        if not isinstance(wanted, str):
            raise ValueError(f"versions of {name} are expected as a string, not {wanted!r}")
        specs.append(name + ("==" if wanted[:1].isdigit() else "") + wanted)
    return tuple(specs)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a string is expected, not {value!r}")
    return value


def _format(value: object) -> str:
    return _one_of(value, FORMATS)


_KEYS: Mapping[str, Callable[[object], object]] = {
    "select": _strings,
    "ignore": _strings,
    "extend-select": _strings,
    "exclude": _strings,
    "extend-exclude": _strings,
    "force-exclude": _boolean,
    "per-file-ignores": _per_file,
    "target": _target,
    "severity": _severity,
    "fail-on": _severity,
    "output-format": _format,
    "fix": _boolean,
    "unsafe-fixes": _boolean,
    "preview": _boolean,
    "baseline": _text,
}


def globs(patterns: list[str]) -> pathspec.GitIgnoreSpec:
    """Patterns in gitignore's language: a bare name matches at any depth, one with a slash from the root. Raises ``ValueError``."""
    try:
        return pathspec.GitIgnoreSpec.from_lines([pattern.removeprefix("./") for pattern in patterns])
    except Exception as error:  # the class of its pattern errors is not the same in all releases
        raise ValueError(f"malformed glob: {error}") from None


def _relative(path: Path, root: Path) -> str | None:
    """``path`` under ``root`` with forward slashes; ``None`` outside."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return None
