"""apply_chat_template() tokenizes by itself."""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-3.1-8B-Instruct")


def encode(messages):
    return tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True)
