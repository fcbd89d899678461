"""get_peft_model() on a base that already has adapters: is there a warning? Nothing is emulated."""

import warnings

from _common import Answer, lora, report, tiny_llama


def ask() -> Answer:
    from peft import get_peft_model

    base = tiny_llama()
    get_peft_model(base, lora())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        get_peft_model(base, lora())
    said = [str(one.message) for one in caught if "for a second time" in str(one.message)]
    return Answer(bool(said), why=said[0] if said else f"{len(caught)} other warnings")


report(ask)
