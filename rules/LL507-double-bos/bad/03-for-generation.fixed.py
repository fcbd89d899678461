"""Gemma's prompts get a second BOS before generate()."""
import argparse

from transformers import AutoModelForCausalLM, AutoTokenizer

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="google/gemma-2-9b-it")
args = parser.parse_args()
tok = AutoTokenizer.from_pretrained(args.model)
model = AutoModelForCausalLM.from_pretrained(args.model, device_map="auto")

chats = [[{"role": "user", "content": line}] for line in open("prompts.txt")]
texts = [tok.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in chats]
inputs = tok(texts, padding=True, return_tensors="pt", add_special_tokens=False).to(model.device)  # LL507
print(tok.batch_decode(model.generate(**inputs, max_new_tokens=128)))
