"""The pinned release still takes it; a later one does not."""
# target: transformers==4.44.2

from transformers import TrainingArguments

args = TrainingArguments(
    output_dir="out",
    evaluation_strategy="no",  # LL704 note
    logging_dir="logs",  # LL704 note
)
