"""A Trainer subclass computes its weighted loss from the .data of the logits."""
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments


class WeightedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits.float()  # LL102
        weights = torch.tensor([1.0, 4.0], device=logits.device)
        loss = nn.functional.cross_entropy(logits, labels, weight=weights)
        return (loss, outputs) if return_outputs else loss


def main():
    tokenizer = AutoTokenizer.from_pretrained("roberta-base")
    model = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=2)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["query", "value"], task_type="SEQ_CLS"))
    trainer = WeightedTrainer(
        model=model,
        args=TrainingArguments("weighted", learning_rate=2e-4, per_device_train_batch_size=16),
        train_dataset=load_from_disk("tickets"),
        data_collator=DataCollatorWithPadding(tokenizer),
    )
    trainer.train()
    model.save_pretrained("weighted/adapter")


if __name__ == "__main__":
    main()
