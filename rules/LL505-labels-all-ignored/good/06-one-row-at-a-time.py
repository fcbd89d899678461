"""All is masked first; then each row gets the labels of its answer."""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("org/base")


def collate(rows):
    batch = tokenizer([r["prompt"] + r["answer"] for r in rows], padding=True, return_tensors="pt")
    labels = batch["input_ids"].clone()
    labels[:] = -100
    for i, row in enumerate(rows):
        start = len(tokenizer(row["prompt"])["input_ids"])
        labels[i, start:] = batch["input_ids"][i, start:]
    batch["labels"] = labels
    return batch


def one(prompt, answer):
    ids = tokenizer(prompt + answer, return_tensors="pt").input_ids[0]
    target = ids.clone()
    target[: len(tokenizer(prompt).input_ids)] = -100
    return ids, target
