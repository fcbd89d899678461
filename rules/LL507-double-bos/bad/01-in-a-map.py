"""Llama 3's template writes <|begin_of_text|>, and so does its tokenizer."""
from datasets import load_dataset
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Meta-Llama-3-8B-Instruct")


def preprocess(example):
    text = tokenizer.apply_chat_template(example["messages"], tokenize=False)
    tokens = tokenizer(text, truncation=True, max_length=2048)  # LL507
    tokens["labels"] = tokens["input_ids"].copy()
    return tokens


data = load_dataset("HuggingFaceH4/ultrachat_200k", split="train_sft")
data = data.map(preprocess, remove_columns=data.column_names)
data.save_to_disk("tokenized")
