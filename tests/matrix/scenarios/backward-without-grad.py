"""loss.detach().backward(): an error? Nothing is emulated."""

from _common import NO_GRAPH, Answer, fails_with, report, tiny_llama, token_ids


def ask() -> Answer:
    loss = tiny_llama()(input_ids=token_ids(), labels=token_ids()).loss
    return fails_with(NO_GRAPH, loss.detach().backward)


report(ask)
