"""Fine: from transformers 5.13 on generate() moves the inputs to the model's device itself."""
# target: transformers==5.13.0 peft==0.20.0 accelerate==1.14.0
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-v0.1")
model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", torch_dtype=torch.bfloat16, device_map="auto").eval()
for prompt in open("prompts.txt"):
    inputs = tokenizer(prompt.strip(), return_tensors="pt")
    with torch.no_grad():
        output = model.generate(**inputs, max_new_tokens=16)
    print(tokenizer.decode(output[0], skip_special_tokens=True))
