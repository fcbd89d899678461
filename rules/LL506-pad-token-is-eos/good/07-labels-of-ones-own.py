"""DataCollatorForSeq2Seq pads the labels that the rows have, and masks none of them."""
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.pad_token = tokenizer.eos_token


def tokenize(example):
    ids = tokenizer(example["text"] + tokenizer.eos_token, truncation=True)
    ids["labels"] = ids["input_ids"].copy()
    return ids


data = load_dataset("json", data_files="faq.jsonl", split="train").map(tokenize)
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model, TrainingArguments("out"), data_collator=DataCollatorForSeq2Seq(tokenizer), train_dataset=data).train()
