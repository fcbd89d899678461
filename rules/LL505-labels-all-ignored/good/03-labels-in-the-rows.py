"""The map puts the labels into the rows."""
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("org/base")
model = AutoModelForCausalLM.from_pretrained("org/base")
data = load_dataset("text", data_files="notes.txt", split="train")


def encode(row):
    ids = tokenizer(row["text"], padding="max_length", max_length=128, truncation=True)
    ids["labels"] = list(ids["input_ids"])
    return ids


data = data.map(encode, remove_columns=data.column_names)
Trainer(model, TrainingArguments("out"), train_dataset=data).train()
