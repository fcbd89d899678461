"""`.cuda()` of a 4-bit model: refused for the release of bitsandbytes? The guard is transformers' own; see ``loaded_in_bits``."""

from _common import Answer, refuses, report


def ask() -> Answer:
    return refuses("is not supported for `4-bit` quantized models with the installed version of bitsandbytes", 4, lambda model: model.cuda())


report(ask)
