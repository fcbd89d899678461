"""The tokenizer itself adds the EOS, and masked_fill takes its label away."""
import argparse

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments


class Run:
    def __init__(self, name):
        self.tokenizer = AutoTokenizer.from_pretrained(name, add_eos_token=True)
        self.tokenizer.pad_token = self.tokenizer.eos_token
        self.model = AutoModelForCausalLM.from_pretrained(name)

    def encode(self, batch):
        return self.tokenizer(batch["text"], truncation=True, max_length=512)

    def collator(self):
        return DataCollatorForLanguageModeling(tokenizer=self.tokenizer, mlm=False)  # LL506

    def start(self, data):
        rows = data.map(self.encode, batched=True, remove_columns=["text"])
        Trainer(self.model, TrainingArguments("run"), self.collator(), rows).train()


parser = argparse.ArgumentParser()
parser.add_argument("--base", default="mistralai/Mistral-7B-v0.1")
Run(parser.parse_args().base).start(load_dataset("text", data_files="corpus.txt", split="train"))
