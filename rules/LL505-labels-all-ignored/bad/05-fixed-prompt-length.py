"""A system prompt of a known length, cut from the first axis."""
from dataclasses import dataclass

from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase, Trainer, TrainingArguments


@dataclass
class Batcher:
    tokenizer: PreTrainedTokenizerBase
    longest: int = 1024

    def __call__(self, examples):
        texts = [e["chat"] for e in examples]
        out = self.tokenizer(text=texts, padding=True, truncation=True, max_length=self.longest, return_tensors="pt")
        labels = out["input_ids"].detach().clone()
        labels[0:48] = -100  # LL505
        return dict(out, labels=labels)


def main(rows):
    batcher = Batcher(AutoTokenizer.from_pretrained("org/base"))
    model = AutoModelForCausalLM.from_pretrained("org/base")
    Trainer(model, TrainingArguments("out"), data_collator=batcher, train_dataset=rows).train()
