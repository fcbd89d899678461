"""Fine: either the map places the model or the move does, never both on one path."""
import argparse

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def load(name, sharded):
    if sharded:
        return AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16, device_map="auto")
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)
    return model.to("cuda" if torch.cuda.is_available() else "cpu")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="mistralai/Mistral-7B-v0.1")
    parser.add_argument("--sharded", action="store_true")
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = load(args.model, args.sharded).eval()
    for line in open("prompts.txt"):
        inputs = tokenizer(line.strip(), return_tensors="pt").to(model.device)
        with torch.no_grad():
            print(tokenizer.decode(model.generate(**inputs, max_new_tokens=16)[0]))
