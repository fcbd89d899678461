"""Trainer with a compute_loss() that does not take num_items_in_batch: does training fail? Nothing is emulated."""

import tempfile

from _common import Answer, fails_with, report, tiny_llama, token_ids


def ask() -> Answer:
    from transformers import Trainer, TrainingArguments

    class Own(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False):  # type: ignore[no-untyped-def]
            outputs = model(**inputs)
            return (outputs.loss, outputs) if return_outputs else outputs.loss

    rows = [{"input_ids": ids, "labels": ids} for ids in token_ids()]
    arguments = TrainingArguments(output_dir=tempfile.mkdtemp(), max_steps=1, report_to=[], save_strategy="no")
    text = "compute_loss() got an unexpected keyword argument 'num_items_in_batch'"
    return fails_with(text, lambda: Own(model=tiny_llama(), args=arguments, train_dataset=rows).train())


report(ask)
