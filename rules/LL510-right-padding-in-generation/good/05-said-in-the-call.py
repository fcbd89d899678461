"""The call says where to pad."""
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained("gpt2")


def answer(questions):
    batch = tokenizer([f"Q: {q} A:" for q in questions], padding=True, padding_side="left", return_tensors="pt")
    return tokenizer.batch_decode(model.generate(**batch, max_new_tokens=64))
