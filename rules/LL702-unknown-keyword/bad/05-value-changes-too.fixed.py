"""The new argument takes another value."""
# target: transformers==5.24.0
# fix: unsafe

from transformers import TrainingArguments

first = TrainingArguments("a", train_sampling_strategy="group_by_length")  # LL702
second = TrainingArguments("b")  # LL702
third = TrainingArguments("c", optim="adafactor")  # LL702
