"""A model with its head on disk, then `.to("cpu")`: does accelerate refuse it? Nothing is emulated.

Without the refusal the move fails all the same, but inside torch, at the first tensor that has no data.
"""

import tempfile

from _common import Answer, failure, report, tiny_llama


def ask() -> Answer:
    from accelerate import dispatch_model

    model = dispatch_model(tiny_llama(), {"model": "cpu", "lm_head": "disk"}, offload_dir=tempfile.mkdtemp())
    message = failure(lambda: model.to("cpu"))
    if "You can't move a model that has some modules offloaded" in message:
        return Answer(True, message)
    return Answer(False, why=f"instead: {message}" if message else "no exception")


report(ask)
