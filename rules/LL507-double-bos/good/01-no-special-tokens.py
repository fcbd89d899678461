"""The tokenizer adds nothing to the template's text."""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-3.1-8B-Instruct")


def encode(messages):
    return tokenizer(tokenizer.apply_chat_template(messages, tokenize=False), add_special_tokens=False)
