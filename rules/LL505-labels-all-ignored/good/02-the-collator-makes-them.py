"""DataCollatorForLanguageModeling makes the labels."""
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("org/base")
model = AutoModelForCausalLM.from_pretrained("org/base")
data = load_dataset("text", data_files="notes.txt", split="train")
data = data.map(lambda row: tokenizer(row["text"]), remove_columns=data.column_names)
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
Trainer(model, TrainingArguments("out"), data_collator=collator, train_dataset=data).train()
