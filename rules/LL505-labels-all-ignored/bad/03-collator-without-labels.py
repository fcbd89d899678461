"""A collator of one's own returns two tensors, and neither of them is called labels."""
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def collate(features):
    ids = pad_sequence([torch.tensor(f["input_ids"]) for f in features], batch_first=True)
    return {"input_ids": ids, "attention_mask": (ids != 0).long()}


def train(rows):
    model = AutoModelForCausalLM.from_pretrained("org/base")
    trainer = Trainer(
        model,
        TrainingArguments(output_dir="out", max_steps=100),
        train_dataset=rows,
        data_collator=collate,  # LL505
    )
    trainer.train()
