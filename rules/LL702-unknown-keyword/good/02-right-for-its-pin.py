"""These are the keywords of the releases that the project pins."""
# target: transformers==4.38.2 trl==0.8.6 peft==0.9.0

from transformers import TrainingArguments
from trl import SFTTrainer

args = TrainingArguments("out", evaluation_strategy="steps", group_by_length=True, logging_dir="logs")


def build(model, tokenizer, dataset):
    return SFTTrainer(model, args=args, tokenizer=tokenizer, train_dataset=dataset, dataset_text_field="text", max_seq_length=512, packing=True)
