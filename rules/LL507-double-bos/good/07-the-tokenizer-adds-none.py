"""The tokenizer was told to add no BOS."""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-Instruct-v0.1")
tokenizer.add_bos_token = False


def encode(messages):
    return tokenizer(tokenizer.apply_chat_template(messages, tokenize=False))
