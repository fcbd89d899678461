"""Qwen has no BOS."""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B-Instruct")


def encode(messages):
    return tokenizer(tokenizer.apply_chat_template(messages, tokenize=False))
