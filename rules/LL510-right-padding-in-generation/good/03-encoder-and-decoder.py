"""A model with an encoder generates from its own start: padding on the right is right."""
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("google/flan-t5-base")
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-base")


def answer(questions):
    tokenizer.padding_side = "right"
    batch = tokenizer([f"Q: {q} A:" for q in questions], padding=True, return_tensors="pt")
    return tokenizer.batch_decode(model.generate(**batch, max_new_tokens=64))
