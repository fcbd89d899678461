"""Where this checkpoint pads is not known."""
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("org/base")
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained("org/base")


def answer(questions):
    batch = tokenizer([f"Q: {q} A:" for q in questions], padding=True, return_tensors="pt")
    return tokenizer.batch_decode(model.generate(**batch, max_new_tokens=64))
