"""assistant_only_loss with a chat template without a generation block: is there an error, or no label at all?

Real: the trainer, its data and its collator.
"""

from _common import Answer, CannotAskError, failure, report, sft_trainer, tiny_llama, tokenizer

TEMPLATE = "{% for m in messages %}w5 {{ m['content'] }} w6 {% endfor %}"


def ask() -> Answer:
    import inspect

    import trl
    from datasets import Dataset

    if not hasattr(trl, "SFTConfig") or "assistant_only_loss" not in inspect.signature(trl.SFTConfig).parameters:
        return Answer(False, why="no such argument: it is refused for that")
    words = tokenizer(chat_template=TEMPLATE)
    said = [{"role": "user", "content": "w7 w8"}, {"role": "assistant", "content": "w9 w10 w11"}]
    labels: list = []

    def make() -> None:
        trainer = sft_trainer(tiny_llama(), {"assistant_only_loss": True}, words=words, rows=Dataset.from_dict({"messages": [said] * 8}))
        for batch in trainer.get_train_dataloader():
            labels.extend(label for row in batch["labels"].tolist() for label in row)

    message = failure(make)
    if message and "generation" not in message and "assistant" not in message:
        raise CannotAskError(f"it fails otherwise: {message}")
    kept = [label for label in labels if label != -100]
    return Answer(bool(message) or not kept, message, why=f"{len(kept)} of {len(labels)} tokens have a label")


report(ask)
