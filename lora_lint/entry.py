"""What other programs call; ``lora_lint`` itself hands on to here, so that its import costs nothing."""

from __future__ import annotations

from pathlib import Path

from lora_lint import config, engine
from lora_lint.config import Settings
from lora_lint.findings import Finding
from lora_lint.source import SourceError, source_of


def check_source(text: str, path: str, settings: Settings | None) -> list[Finding]:
    """See ``lora_lint.check_source``."""
    chosen = settings if settings is not None else config.settings(config.Config(Path()))
    try:
        source = source_of(text.encode("utf-8"), path)
    except UnicodeEncodeError as problem:
        return engine.unreadable(path, SourceError(f"cannot encode as UTF-8: {problem.reason}")).findings
    except SourceError as error:
        return engine.unreadable(path, error).findings
    return engine.check_source(source, chosen).findings
