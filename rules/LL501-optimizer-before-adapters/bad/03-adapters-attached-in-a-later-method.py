"""The class builds its optimizer in __init__() and attaches the adapter in another method."""
import torch
from accelerate import Accelerator
from peft import LoraConfig
from torch.utils.data import DataLoader
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer


class Translator:
    def __init__(self, name, lr=1e-3):
        self.accelerator = Accelerator()
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        self.model = AutoModelForSeq2SeqLM.from_pretrained(name)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)  # LL501

    def attach(self, rank):
        self.model.add_adapter(LoraConfig(r=rank, target_modules=["q", "v"]))

    def collate(self, lines):
        batch = self.tokenizer(lines, padding=True, return_tensors="pt")
        batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        return dict(batch)

    def fit(self, lines):
        loader = DataLoader(lines, batch_size=4, collate_fn=self.collate)
        model, optimizer, loader = self.accelerator.prepare(self.model, self.optimizer, loader)
        model.train()
        for batch in loader:
            loss = model(**batch).loss
            self.accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    translator = Translator("google/flan-t5-small")
    translator.attach(rank=8)
    translator.fit(open("train.txt").read().splitlines())
    translator.model.save_pretrained("translator-lora")
