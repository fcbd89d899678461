"""Fine: argmax and numpy serve the metrics; the Trainer takes the loss from the model."""
import numpy as np
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments


def compute_metrics(prediction):
    logits, labels = prediction
    guess = np.argmax(logits, axis=-1)
    return {"accuracy": float((guess == labels).mean())}


def preprocess_logits_for_metrics(logits, labels):
    return logits.detach().argmax(dim=-1) if isinstance(logits, tuple) else logits.detach()


tok = AutoTokenizer.from_pretrained("roberta-base")
model = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=2)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["query", "value"], task_type="SEQ_CLS"))
data = load_from_disk("tickets")
Trainer(
    model=model,
    args=TrainingArguments("out", learning_rate=2e-4),
    train_dataset=data["train"],
    eval_dataset=data["test"],
    data_collator=DataCollatorWithPadding(tok),
    compute_metrics=compute_metrics,
    preprocess_logits_for_metrics=preprocess_logits_for_metrics,
).train()
