"""generate() with inputs on the CPU and a model on a GPU: does the forward get them unmoved?

Real: generate() up to the first forward. Emulated: the GPU. The model says that it is on "cuda:0", Tensor.to() with such a device hands out a marked
tensor, and the forward only looks whether its input ids bear the mark.
"""

from unittest import mock

import torch
from _common import Answer, CannotAskError, failure, report, tiny_llama, token_ids

GPU = torch.device("cuda:0")


class OnGPU(torch.Tensor):
    """The mark, which the results of operations inherit."""


class Reached(Exception):  # noqa: N818 - a signal
    pass


def ask() -> Answer:
    model = tiny_llama().eval()
    seen = []
    plain = torch.Tensor.to

    def to(self: torch.Tensor, *positional: object, **keywords: object) -> torch.Tensor:
        target = keywords.get("device", positional[0] if positional else None)
        if isinstance(target, (str, torch.device)) and torch.device(target) == GPU:
            return self.as_subclass(OnGPU)
        return plain(self, *positional, **keywords)

    def look(*positional: object, input_ids: torch.Tensor, **keywords: object) -> None:
        seen.append(isinstance(input_ids, OnGPU))
        raise Reached

    model.__class__ = type("OnTheGPU", (type(model),), {"device": property(lambda self: GPU), "forward": look})
    ids = token_ids()
    with mock.patch.object(torch.Tensor, "to", to):
        message = failure(lambda: model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=1, do_sample=False))
    if not seen:
        raise CannotAskError(f"generate() ends before the forward: {message}")
    return Answer(not seen[0], why=f"the forward got {'' if seen[0] else 'un'}moved ids", how="emulated")


report(ask)
