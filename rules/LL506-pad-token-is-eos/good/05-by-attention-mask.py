"""The labels are masked where the attention mask is 0: the EOS of the text keeps its label."""
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("org/base")
tokenizer.pad_token = tokenizer.eos_token


def collate(rows):
    batch = tokenizer([r["text"] + tokenizer.eos_token for r in rows], padding=True, return_tensors="pt")
    labels = batch["input_ids"].clone()
    labels[batch["attention_mask"] == 0] = -100
    batch["labels"] = labels
    return batch


def main(rows):
    model = AutoModelForCausalLM.from_pretrained("org/base")
    Trainer(model, TrainingArguments("out", remove_unused_columns=False), data_collator=collate, train_dataset=rows).train()
