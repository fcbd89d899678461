"""`.to("cpu")` of an 8-bit model: refused because it is one? The guard is transformers' own; see ``loaded_in_bits`` for the model."""

from _common import Answer, refuses, report


def ask() -> Answer:
    return refuses("`.to` is not supported for", 8, lambda model: model.to("cpu"))


report(ask)
