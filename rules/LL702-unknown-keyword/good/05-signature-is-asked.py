"""The script looks at the signature before it chooses the name."""

import inspect

from transformers import Trainer, TrainingArguments

parameters = inspect.signature(TrainingArguments.__init__).parameters
if "eval_strategy" in inspect.signature(TrainingArguments).parameters:
    args = TrainingArguments("out", eval_strategy="no")
else:
    args = TrainingArguments("out", evaluation_strategy="no")


def build(model, tokenizer):
    try:
        return Trainer(model=model, args=args, processing_class=tokenizer)
    except TypeError:
        return Trainer(model=model, args=args, tokenizer=tokenizer)
