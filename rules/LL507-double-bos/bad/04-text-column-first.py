"""Two maps: one writes the text, the next one tokenizes it, with the default said aloud."""
from datasets import load_dataset
from transformers import AutoTokenizer

BASE = "meta-llama/Llama-2-7b-chat-hf"
tokenizer = AutoTokenizer.from_pretrained(BASE, use_fast=True)
chats = load_dataset("json", data_files="chats.jsonl", split="train")
texts = chats.map(lambda x: {"text": tokenizer.apply_chat_template(x["messages"], tokenize=False)})
tokens = texts.map(
    lambda x: tokenizer(x["text"], add_special_tokens=True, truncation=True),  # LL507
    remove_columns=texts.column_names,
)
