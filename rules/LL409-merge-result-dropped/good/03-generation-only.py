"""Fine: the model that is left computes with the merged weights; nothing is saved."""
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), "runs/adapter")
model.merge_and_unload()
model.eval()
for line in open("questions.txt"):
    ids = tokenizer(line, return_tensors="pt")
    print(tokenizer.decode(model.generate(**ids, max_new_tokens=40)[0]))
