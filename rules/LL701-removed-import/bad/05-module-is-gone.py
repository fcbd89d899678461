"""trl.core went away as a whole; so did its helpers."""
# target: trl>=0.25

from transformers import AutoTokenizer
from trl.core import LengthSampler  # LL701

tokenizer = AutoTokenizer.from_pretrained("gpt2")
sampler = LengthSampler(2, 8)


def shorten(sample):
    sample["input_ids"] = tokenizer.encode(sample["review"])[: sampler()]
    sample["query"] = tokenizer.decode(sample["input_ids"])
    return sample
