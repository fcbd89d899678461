"""An SFTTrainer over texts that end in the EOS, with a tokenizer that pads with it: does the batch have no label for the EOS that was written?

Real: the trainer, its data and its collator.
"""

from _common import Answer, report, sft_trainer, tiny_llama, tokenizer


def ask() -> Answer:
    from datasets import Dataset

    rows = Dataset.from_dict({"text": [" ".join(f"w{4 + (i * 7 + j) % 120}" for j in range(5 + i)) + " </s>" for i in range(8)]})
    trainer = sft_trainer(tiny_llama(), words=tokenizer(pad_token="</s>"), rows=rows)
    labels = [int(label) for batch in trainer.get_train_dataloader() for row in _labelled(batch) for label in row]
    return Answer(2 not in labels, why=f"{labels.count(2)} labels are the EOS, {labels.count(-100)} are ignored")


def _labelled(batch: dict) -> list:
    return batch["labels"].tolist()


report(ask)
