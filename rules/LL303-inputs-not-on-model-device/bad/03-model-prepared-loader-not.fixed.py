"""accelerator.prepare() puts the model on the GPU; the loader was left out, so its batches stay on the CPU."""
import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer


class Job:
    def __init__(self, name, lr=1e-4):
        self.accelerator = Accelerator()
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        self.tokenizer.pad_token = self.tokenizer.eos_token
        base = AutoModelForCausalLM.from_pretrained(name)
        self.model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
        optimizer = torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], lr=lr)
        self.model, self.optimizer = self.accelerator.prepare(self.model, optimizer)

    def collate(self, lines):
        batch = self.tokenizer(lines, padding=True, return_tensors="pt")
        batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        return dict(batch)

    def fit(self, lines):
        loader = DataLoader(lines, batch_size=4, shuffle=True, collate_fn=self.collate)
        self.model.train()
        for batch in loader:
            loss = self.model(**{k: v.to(self.model.device) for k, v in batch.items()}).loss  # LL303
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()


if __name__ == "__main__":
    Job("Qwen/Qwen2.5-0.5B").fit(open("train.txt").read().splitlines())
