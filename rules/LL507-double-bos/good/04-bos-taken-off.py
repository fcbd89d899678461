"""The BOS of the template is taken off before."""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-Instruct-v0.3")


def encode(messages):
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    return tokenizer(text.removeprefix(tokenizer.bos_token))
