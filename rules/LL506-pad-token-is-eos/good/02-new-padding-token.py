"""A new padding token replaces the EOS before training."""
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.pad_token = tokenizer.eos_token
tokenizer.add_special_tokens({"pad_token": "<pad>"})


def tokenize(example):
    return tokenizer(example["text"] + tokenizer.eos_token, truncation=True, max_length=512)


data = load_dataset("json", data_files="faq.jsonl", split="train")
data = data.map(tokenize, remove_columns=data.column_names)
model = AutoModelForCausalLM.from_pretrained("gpt2")
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
Trainer(model, TrainingArguments("out"), data_collator=collator, train_dataset=data).train()
