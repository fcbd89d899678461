"""`.to("cpu")` and `.cuda()` of a 4-bit model: both refused because it is one? The guards are transformers' own; see ``loaded_in_bits``."""

from _common import Answer, refuses, report


def ask() -> Answer:
    to = refuses("`.to` is not supported for `4-bit`", 4, lambda model: model.to("cpu"))
    cuda = refuses("Calling `cuda()` is not supported for `4-bit` or `8-bit`", 4, lambda model: model.cuda())
    if to.holds and cuda.holds:
        return cuda
    return Answer(False, why=f"of .to() {to.message or to.why}; of .cuda() {cuda.message or cuda.why}", how=cuda.how)


report(ask)
