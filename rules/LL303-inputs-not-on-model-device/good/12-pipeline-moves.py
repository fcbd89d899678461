"""Fine: pipeline() tokenizes the text and moves the tensors to its model itself."""
import argparse

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="Qwen/Qwen2.5-0.5B")
    args = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.bfloat16).to("cuda")
    write = pipeline("text-generation", model=model, tokenizer=AutoTokenizer.from_pretrained(args.model), device=0)
    for prompt in open("prompts.txt"):
        print(write(prompt.strip(), max_new_tokens=16)[0]["generated_text"])
