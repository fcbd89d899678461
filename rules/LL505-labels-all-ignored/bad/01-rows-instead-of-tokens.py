"""The slice is over the rows of the batch: with eight rows and a prompt of twenty tokens, no label is left."""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


class HidePrompt:
    def __init__(self, tokenizer, prompt):
        self.tokenizer, self.prompt = tokenizer, prompt
        self.hidden = len(tokenizer(prompt)["input_ids"])

    def __call__(self, rows):
        batch = self.tokenizer([self.prompt + r["text"] for r in rows], padding=True, return_tensors="pt")
        labels = batch["input_ids"].clone()
        labels[batch["attention_mask"] == 0] = -100
        labels[: self.hidden] = -100  # LL505
        batch["labels"] = labels
        return batch


def main(data):
    tok = AutoTokenizer.from_pretrained("org/base")
    model = AutoModelForCausalLM.from_pretrained("org/base", torch_dtype=torch.bfloat16)
    args = TrainingArguments("posts", per_device_train_batch_size=8, remove_unused_columns=False)
    Trainer(model, args, data_collator=HidePrompt(tok, "You write blog posts.\n"), train_dataset=data).train()
