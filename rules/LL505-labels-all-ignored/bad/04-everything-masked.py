"""All labels are masked, and nothing puts any of them back."""
from transformers import AutoTokenizer

IGNORE = -100
tokenizer = AutoTokenizer.from_pretrained("org/base")


def collate_fn(batch):
    enc = tokenizer([b["text"] for b in batch], padding="longest", return_tensors="pt")
    target = enc.input_ids.clone()
    target[:] = IGNORE  # LL505
    return {**enc, "labels": target}
