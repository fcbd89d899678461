"""A class of that name that the project brings itself, and keywords that cannot be seen."""

from transformers import TrainingArguments

from my_trainers import Trainer


def build(model, tokenizer, **options):
    args = TrainingArguments("out", **options)
    return Trainer(model=model, args=args, tokenizer=tokenizer, evaluation_strategy="steps")
