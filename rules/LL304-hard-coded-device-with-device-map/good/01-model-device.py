"""Fine: the inputs follow the model, wherever the map has put it."""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def complete(model, tokenizer, prompt):
    inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
    with torch.no_grad():
        output = model.generate(**inputs, max_new_tokens=32)
    return tokenizer.decode(output[0], skip_special_tokens=True)


if __name__ == "__main__":
    tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-2-13b-hf")
    model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-13b-hf", device_map="auto").eval()
    for prompt in open("prompts.txt"):
        print(complete(model, tokenizer, prompt.strip()))
