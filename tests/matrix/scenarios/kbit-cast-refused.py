"""`.half()` and `.float()` of a 4-bit and of an 8-bit model: all refused? The guards are transformers' own; see ``loaded_in_bits``."""

from _common import Answer, CannotAskError, refuses, report


def ask() -> Answer:
    answers = [
        refuses(f"`.{method}()` is not supported for ", bits, lambda model, method=method: getattr(model, method)())
        for bits in (4, 8)
        for method in ("half", "float")
    ]
    if len({answer.holds for answer in answers}) > 1:
        raise CannotAskError("some are refused, some not")
    return answers[0]


report(ask)
