"""`.to("cpu")` of an 8-bit model: refused for the release of bitsandbytes? The guard is transformers' own; see ``loaded_in_bits``."""

from _common import Answer, refuses, report


def ask() -> Answer:
    return refuses("You need to install `pip install bitsandbytes>=", 8, lambda model: model.to("cpu"))


report(ask)
