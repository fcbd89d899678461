"""TOML reading, the same on Python 3.10 and later."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOMLDecodeError = tomllib.TOMLDecodeError


def loads(text: str) -> dict[str, Any]:
    """Parse a TOML document; raises ``TOMLDecodeError`` (a ``ValueError``)."""
    try:
        return tomllib.loads(text)
    except TOMLDecodeError:
        raise
    except (ValueError, RecursionError) as error:  # an integer of some thousand digits, brackets of some thousand levels
        raise TOMLDecodeError(str(error)) from None
