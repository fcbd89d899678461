"""get_peft_model() over a base in float16: are the adapters in float16 as well? Nothing is emulated."""

import torch
from _common import Answer, CannotAskError, lora, report, tiny_llama


def ask() -> Answer:
    from peft import get_peft_model

    model = get_peft_model(tiny_llama().half(), lora())
    types = {p.dtype for name, p in model.named_parameters() if "lora_" in name}
    if len(types) != 1:
        raise CannotAskError(f"the adapters are in {types}")
    return Answer(types == {torch.float16}, why=f"the adapters are in {types.pop()}")


report(ask)
