"""``--verify``: run the user's own script, confined, up to its first optimizer step, and see which findings come true.

The only package of the project that starts a process. ``session`` is its door: it plans a run (``plan``), ``launch`` starts it and gets it back,
``confine`` and ``supervise`` hold it, ``step`` is what runs in it, ``seen`` is what it reports, and ``verdicts`` judges by that. Importing this
package imports none of them.
"""

from __future__ import annotations


class VerifyError(Exception):
    """Why nothing can be run; the text is one clear line with the cure."""
