"""The slice is over the tokens of every row."""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("org/base")
PROMPT = "You write blog posts.\n"
HIDDEN = len(tokenizer(PROMPT)["input_ids"])


def collate(rows):
    batch = tokenizer([PROMPT + r["text"] for r in rows], padding=True, return_tensors="pt")
    labels = batch["input_ids"].clone()
    labels[:, :HIDDEN] = -100
    return {**batch, "labels": labels}
