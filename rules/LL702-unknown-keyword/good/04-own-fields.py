"""The class of the project has fields and arguments of its own."""

from dataclasses import dataclass, field

from transformers import Trainer, TrainingArguments


@dataclass
class Arguments(TrainingArguments):
    evaluation_strategy: str = field(default="no")
    freeze_layers: int = 0


class MyTrainer(Trainer):
    def __init__(self, *args, tokenizer=None, **kwargs):
        super().__init__(*args, processing_class=tokenizer, **kwargs)


def build(model, tokenizer):
    return MyTrainer(model=model, args=Arguments(output_dir="out", freeze_layers=2, evaluation_strategy="no"), tokenizer=tokenizer)
