"""Fine: unsloth's from_pretrained has a keyword of this name of its own."""
from unsloth import FastLanguageModel

model, tokenizer = FastLanguageModel.from_pretrained(
    model_name="unsloth/mistral-7b-bnb-4bit",
    max_seq_length=2048,
    load_in_4bit=True,
)
FastLanguageModel.for_inference(model)
batch = tokenizer("Write a haiku.", return_tensors="pt").to("cuda")
print(tokenizer.decode(model.generate(**batch, max_new_tokens=40)[0]))
