"""The names that the newest releases take."""

from transformers import Trainer, TrainingArguments

args = TrainingArguments("out", eval_strategy="no", warmup_steps=100)


def build(model, tokenizer):
    return Trainer(model=model, args=args, processing_class=tokenizer)
