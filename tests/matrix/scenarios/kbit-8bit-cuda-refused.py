"""`.cuda()` of an 8-bit model: refused because it is one? The guard is transformers' own; see ``loaded_in_bits``."""

import re

from _common import Answer, failure, loaded_in_bits, report


def ask() -> Answer:
    model, how = loaded_in_bits(8)
    message = failure(model.cuda)
    if re.search(r"Calling `cuda\(\)` is not supported for (`4-bit` or )?`8-bit` quantized models", message):
        return Answer(True, message, how=how)
    return Answer(False, why=f"instead: {message}" if message else "no exception", how=how)


report(ask)
