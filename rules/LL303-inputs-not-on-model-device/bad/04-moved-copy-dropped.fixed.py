"""Tensor.to() returns a copy; called as a statement it moves nothing."""
import fire
import torch
import transformers as hf
from torch.utils.data import DataLoader


def batches(tokenizer, path, size):
    lines = open(path).read().splitlines()

    def collate(part):
        return tokenizer(part, padding=True, truncation=True, return_tensors="pt")["input_ids"]

    return DataLoader(lines, batch_size=size, collate_fn=collate)


def perplexity(checkpoint="gpt2", path="lines.txt", size=4):
    device = torch.device("cuda")
    tokenizer = hf.AutoTokenizer.from_pretrained(checkpoint)
    tokenizer.pad_token = tokenizer.eos_token
    model = hf.AutoModelForCausalLM.from_pretrained(checkpoint).to(device).eval()
    total = 0.0
    for ids in batches(tokenizer, path, size):
        ids.to(device)
        with torch.no_grad():
            total += model(input_ids=ids.to(model.device), labels=ids).loss.item()  # LL303
    print(total)


if __name__ == "__main__":
    fire.Fire(perplexity)
