"""Training pads on the right, generation on the left, each with a tokenizer of its own."""
from transformers import AutoModelForCausalLM, AutoTokenizer

train_tok = AutoTokenizer.from_pretrained("gpt2", padding_side="right")
eval_tok = AutoTokenizer.from_pretrained("gpt2", padding_side="left")
train_tok.pad_token = eval_tok.pad_token = "<|endoftext|>"
model = AutoModelForCausalLM.from_pretrained("gpt2")
texts = ["one text", "and another, longer text"]

batch = train_tok(texts, padding=True, return_tensors="pt")
model(**batch, labels=batch["input_ids"]).loss.backward()
prompts = eval_tok(texts, padding=True, return_tensors="pt")
print(eval_tok.batch_decode(model.generate(**prompts, max_new_tokens=8)))
