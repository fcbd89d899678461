"""The new argument takes another value."""
# target: transformers==5.24.0
# fix: unsafe

from transformers import TrainingArguments

first = TrainingArguments("a", group_by_length=True)  # LL702
second = TrainingArguments("b", logging_dir="b/logs", overwrite_output_dir=True)  # LL702
third = TrainingArguments("c", adafactor=True, group_by_length=False)  # LL702
