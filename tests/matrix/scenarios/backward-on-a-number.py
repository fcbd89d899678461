"""loss.item().backward(): an error? Nothing is emulated."""

from _common import Answer, fails_with, report, tiny_llama, token_ids


def ask() -> Answer:
    loss = tiny_llama()(input_ids=token_ids(), labels=token_ids()).loss
    return fails_with("'float' object has no attribute 'backward'", lambda: loss.item().backward())


report(ask)
