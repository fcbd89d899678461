"""Trainer around an 8-bit model without adapters: refused? See ``loaded_in_bits`` for the model."""

import tempfile

from _common import Answer, refuses, report, token_ids


def ask() -> Answer:
    from transformers import Trainer, TrainingArguments

    rows = [{"input_ids": ids, "labels": ids} for ids in token_ids()]
    arguments = TrainingArguments(output_dir=tempfile.mkdtemp(), max_steps=1, report_to=[], save_strategy="no")
    text = "You cannot perform fine-tuning on purely quantized models"
    return refuses(text, 8, lambda model: Trainer(model=model, args=arguments, train_dataset=rows))


report(ask)
