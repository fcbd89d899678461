"""`.to(torch.bfloat16)` of a 4-bit and of an 8-bit model: both refused? The guard is transformers' own; see ``loaded_in_bits``."""

import torch
from _common import Answer, CannotAskError, failure, loaded_in_bits, report

TEXTS = ("You cannot cast a bitsandbytes model in a new `dtype`", "`.to` is not supported for")


def ask() -> Answer:
    said, how = [], "run"
    for bits in (4, 8):
        model, how = loaded_in_bits(bits)
        said.append(failure(lambda model=model: model.to(torch.bfloat16)))
    refused = {any(text in message for text in TEXTS) for message in said}
    if len(refused) > 1:
        raise CannotAskError(f"only one of the two is refused: {said[0] or said[1]}")
    return Answer(refused == {True}, said[0] if refused == {True} else "", "", how)


report(ask)
