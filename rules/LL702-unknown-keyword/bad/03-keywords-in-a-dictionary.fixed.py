"""The keywords come from dictionaries; the trainer is a class of the project."""
# target: transformers==5.24.0

from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

CONFIG = {
    "output_dir": "out",
    "use_cpu": True,  # LL702
    "learning_rate": 2e-4,
}


class WeightedTrainer(Trainer):
    def __init__(self, *args, weight=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.weight = weight


def main(train_dataset):
    tokenizer = AutoTokenizer.from_pretrained("roberta-base")
    trainer = WeightedTrainer(
        model=AutoModelForSequenceClassification.from_pretrained("roberta-base"),
        args=TrainingArguments(**CONFIG),
        train_dataset=train_dataset,
        processing_class=tokenizer,  # LL702
        weight=0.5,
    )
    trainer.train()
