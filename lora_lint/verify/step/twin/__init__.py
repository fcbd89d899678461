"""The twin: what the script would download is made here, tiny and random, and what only costs time or leaves traces is switched off.

Names on the hub become small checkpoints in the scratch folder that the real ``from_pretrained`` loads, so that quantization, placement, types and
guards are those of the libraries.
"""

from __future__ import annotations

from typing import Any

from .common import Twin


def install(plan: dict[str, Any], record: Any, root: str) -> Twin:
    """Patch the libraries that are imported, and the others as soon as they will be. ``root`` is the scratch folder."""
    from . import adapters, arguments, checkpoints, datasets, files, hub, processors, quiet, reporting, tokenizers

    twin = Twin(plan, record, root)
    words = tokenizers.Tokenizers(twin)
    models = checkpoints.Checkpoints(twin, words)
    words.install(models)
    models.install()
    processors.install(twin, models)
    adapters.Adapters(twin, models).install()
    hub.install(twin, models)
    datasets.install(twin)
    arguments.install(twin)
    files.install(twin)
    reporting.install(twin)
    quiet.install(twin)
    return twin
