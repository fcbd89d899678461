"""Trainer with a causal model and batches without labels: does it refuse to train?

Real: the trainer.
"""

import tempfile

from _common import fails_with, report, tiny_llama, token_ids


def ask():  # type: ignore[no-untyped-def]
    import inspect

    from transformers import Trainer, TrainingArguments

    cpu = "use_cpu" if "use_cpu" in inspect.signature(TrainingArguments).parameters else "no_cuda"
    args = TrainingArguments(tempfile.mkdtemp(), max_steps=1, report_to=[], save_strategy="no", disable_tqdm=True, **{cpu: True})
    rows = [{"input_ids": row, "attention_mask": row * 0 + 1} for row in token_ids()]
    return fails_with("The model did not return a loss from the inputs", Trainer(tiny_llama(), args, train_dataset=rows).train)


report(ask)
