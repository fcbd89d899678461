"""The columns of the file stay, and one of them may be called labels."""
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("org/base")
model = AutoModelForCausalLM.from_pretrained("org/base")
data = load_dataset("text", data_files="notes.txt", split="train")
data = data.map(lambda row: tokenizer(row["text"]))
Trainer(model, TrainingArguments("out"), train_dataset=data).train()
