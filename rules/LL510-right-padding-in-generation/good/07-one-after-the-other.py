"""Each prompt is generated for by itself, so that nothing is padded."""
from transformers import AutoModelForCausalLM, AutoTokenizer

tok = AutoTokenizer.from_pretrained("gpt2", padding_side="right")
tok.pad_token = tok.eos_token
model = AutoModelForCausalLM.from_pretrained("gpt2")

for line in open("prompts.txt"):
    inputs = tok(line.strip(), padding=True, return_tensors="pt")
    print(tok.decode(model.generate(**inputs, max_new_tokens=20)[0]))
