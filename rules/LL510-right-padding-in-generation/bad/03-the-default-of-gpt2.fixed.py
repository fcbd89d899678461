"""GPT-2 pads on the right unless it is told otherwise."""
# fix: unsafe
from transformers import AutoTokenizer, GPT2LMHeadModel

tok = AutoTokenizer.from_pretrained("openai-community/gpt2-large", padding_side="left")
tok.pad_token = tok.eos_token
gpt2 = GPT2LMHeadModel.from_pretrained("openai-community/gpt2-large")

prompts = ["The capital of France is", "Once upon a time, in a land far away,"]
inputs = tok(prompts, padding=True, return_tensors="pt")
inputs = {name: value.to(gpt2.device) for name, value in inputs.items()}
for ids in gpt2.generate(**inputs, do_sample=True, max_new_tokens=40):  # LL510
    print(tok.decode(ids, skip_special_tokens=True))
