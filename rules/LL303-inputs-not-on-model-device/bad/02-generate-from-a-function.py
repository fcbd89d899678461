"""generate() moves its inputs only from transformers 5.13 on; before that it stops on a model that fits one GPU."""
# target: transformers==5.12.1 peft==0.20.0 accelerate==1.14.0
import argparse

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def load(name):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16, device_map="auto")
    return model.eval(), AutoTokenizer.from_pretrained(name)


def complete(model, tokenizer, prompt, length):
    input_ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        output = model.generate(input_ids, max_new_tokens=length)  # LL303
    return tokenizer.decode(output[0], skip_special_tokens=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="mistralai/Mistral-7B-v0.1")
    parser.add_argument("--length", type=int, default=32)
    args = parser.parse_args()
    model, tokenizer = load(args.model)
    for prompt in open("prompts.txt"):
        print(complete(model, tokenizer, prompt.strip(), args.length))
