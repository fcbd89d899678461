"""The script has a template of its own, without a BOS."""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-7b-hf")
tokenizer.chat_template = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}\\n{% endfor %}"


def encode(messages):
    return tokenizer(tokenizer.apply_chat_template(messages, tokenize=False))
