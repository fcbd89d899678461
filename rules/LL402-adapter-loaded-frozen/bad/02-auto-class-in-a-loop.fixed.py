"""A class that reopens an adapter with AutoPeftModel and filters its frozen parameters into an empty optimizer."""
import torch
from accelerate import Accelerator
from peft import AutoPeftModelForCausalLM
from torch.utils.data import DataLoader
from transformers import AutoTokenizer


class Continuation:
    def __init__(self, adapter, lr=5e-5):
        self.accelerator = Accelerator()
        self.tokenizer = AutoTokenizer.from_pretrained(adapter)
        self.tokenizer.pad_token = self.tokenizer.eos_token
        self.model = AutoPeftModelForCausalLM.from_pretrained(adapter, torch_dtype=torch.bfloat16, is_trainable=True)  # LL402
        trainable = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trainable, lr=lr)

    def collate(self, lines):
        batch = self.tokenizer(lines, padding=True, return_tensors="pt")
        return {**batch, "labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}

    def run(self, lines):
        loader = DataLoader(lines, batch_size=4, collate_fn=self.collate)
        model, optimizer, loader = self.accelerator.prepare(self.model, self.optimizer, loader)
        model.train()
        for batch in loader:
            loss = model(**batch).loss
            self.accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    Continuation("runs/chat-adapter").run(open("train.txt").read().splitlines())
