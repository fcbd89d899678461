"""Works on one NVIDIA GPU; on another backend, or where the map starts elsewhere, "cuda" is the wrong guess."""
import argparse

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def complete(model, tokenizer, prompt):
    inputs = tokenizer(prompt, return_tensors="pt").to("cuda")  # LL304 note
    with torch.no_grad():
        output = model.generate(**inputs, max_new_tokens=32)
    return tokenizer.decode(output[0], skip_special_tokens=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="meta-llama/Llama-2-13b-hf")
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.float16, device_map="auto")
    model.eval()
    for prompt in open("prompts.txt"):
        print(complete(model, tokenizer, prompt.strip()))


if __name__ == "__main__":
    main()
