"""A list of one prompt is not padded, on whichever side."""
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained("gpt2")


def answer(questions):
    batch = tokenizer([f"Q: {questions} A:"], padding=True, return_tensors="pt")
    return tokenizer.batch_decode(model.generate(**batch, max_new_tokens=64))
