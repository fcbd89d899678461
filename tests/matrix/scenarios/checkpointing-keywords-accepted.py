"""Do the method and TrainingArguments both accept gradient_checkpointing_kwargs? Nothing is emulated."""

import tempfile

from _common import Answer, CannotAskError, failure, report, tiny_llama


def ask() -> Answer:
    from transformers import TrainingArguments

    keywords = {"use_reentrant": False}
    method = failure(lambda: tiny_llama().gradient_checkpointing_enable(gradient_checkpointing_kwargs=keywords))
    arguments = failure(lambda: TrainingArguments(output_dir=tempfile.mkdtemp(), gradient_checkpointing_kwargs=keywords))
    for message in (method, arguments):
        if message and "unexpected keyword argument 'gradient_checkpointing_kwargs'" not in message:
            raise CannotAskError(f"it fails otherwise: {message}")
    if bool(method) != bool(arguments):
        raise CannotAskError(f"only one of the two accepts it: {method or arguments}")
    return Answer(not method, why=method)


report(ask)
