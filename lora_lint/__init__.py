"""lora-lint: the linter for fine-tuning scripts, run before the GPU is paid for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lora_lint.config import Settings
    from lora_lint.findings import Finding

__version__ = "0.1.0"
__all__ = ["__version__", "check_source"]


def check_source(text: str, path: str = "-", settings: Settings | None = None) -> list[Finding]:
    """The findings in the text of a script, or of a notebook if ``path`` ends so; ``settings`` default to all rules on all versions.

    It reads nothing but the text, gives the same answer for the same arguments, and raises for no text: what cannot be parsed is a finding. Both
    settings and findings can be pickled.
    """
    from lora_lint import entry

    return entry.check_source(text, path, settings)
