"""The text is no template's."""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-3.1-8B-Instruct")


def encode(messages):
    return tokenizer("\n".join(m["content"] for m in messages), truncation=True)
