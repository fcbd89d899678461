"""Whether this tokenizer adds a BOS is not known: a note."""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("org/chat-model")


def encode(messages):
    return tokenizer(tokenizer.apply_chat_template(messages, tokenize=False), truncation=True)  # LL507 note
