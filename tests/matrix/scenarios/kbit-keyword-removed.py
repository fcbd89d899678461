"""from_pretrained(folder, load_in_8bit=False) and load_in_4bit=False: unknown keywords? Nothing is emulated; False loads nothing in bits."""

from _common import Answer, CannotAskError, fails_with, report, saved, tiny_llama


def ask() -> Answer:
    from transformers import LlamaForCausalLM

    folder = saved(tiny_llama())
    four, eight = (
        fails_with(f"got an unexpected keyword argument '{keyword}'", lambda k=keyword: LlamaForCausalLM.from_pretrained(folder, **{k: False}))
        for keyword in ("load_in_4bit", "load_in_8bit")
    )
    if four.holds != eight.holds:
        raise CannotAskError("only one of the two is accepted")
    return four


report(ask)
