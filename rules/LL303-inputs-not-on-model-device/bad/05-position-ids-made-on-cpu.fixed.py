"""The tokens are moved, but torch.arange() made the positions on the CPU, and those are looked up as well."""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def score(model, tokenizer, text):
    ids = tokenizer(text, return_tensors="pt").input_ids.cuda()
    positions = torch.arange(ids.shape[1]).unsqueeze(0)
    with torch.no_grad():
        return model(input_ids=ids, position_ids=positions.to(model.device), labels=ids).loss.item()  # LL303


def main():
    name = "openai-community/gpt2-medium"
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name).cuda().eval()
    for line in open("lines.txt"):
        print(score(model, tokenizer, line.strip()))


main()
