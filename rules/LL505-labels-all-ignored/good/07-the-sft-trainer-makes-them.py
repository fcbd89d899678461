"""SFTTrainer makes the labels."""
from datasets import load_dataset
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

tokenizer = AutoTokenizer.from_pretrained("org/base")
data = load_dataset("text", data_files="notes.txt", split="train")
data = data.map(lambda row: tokenizer(row["text"]), remove_columns=data.column_names)
SFTTrainer("org/base", args=SFTConfig(output_dir="out"), train_dataset=data).train()
