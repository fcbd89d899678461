"""Exit statuses; 0 is that of a run that found nothing."""

FINDINGS = 1
"""There are findings at or above the limit."""

FAILED = 2
"""Wrong usage or configuration, or a file that cannot be read or parsed."""
