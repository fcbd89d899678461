"""A collator of one's own masks what equals the padding token, and that is the EOS."""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


class Collator:
    def __init__(self, tokenizer, max_length=1024):
        self.tokenizer = tokenizer
        self.max_length = max_length

    def __call__(self, rows):
        texts = [f"{row['prompt']}\n{row['response']}{self.tokenizer.eos_token}" for row in rows]
        batch = self.tokenizer(texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt")
        labels = batch["input_ids"].clone()
        labels[labels == self.tokenizer.pad_token_id] = -100  # LL506
        batch["labels"] = labels
        return batch


def main(rows):
    tokenizer = AutoTokenizer.from_pretrained("org/base")
    tokenizer.pad_token_id = tokenizer.eos_token_id
    model = AutoModelForCausalLM.from_pretrained("org/base", torch_dtype=torch.bfloat16)
    args = TrainingArguments("out", remove_unused_columns=False, bf16=True)
    Trainer(model, args, data_collator=Collator(tokenizer), train_dataset=rows).train()
