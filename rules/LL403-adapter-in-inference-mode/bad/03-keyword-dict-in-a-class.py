"""The flag sits in a dict of options that was copied from the serving code."""
import torch
import transformers
from peft import LoraConfig, TaskType, get_peft_model
from torch.utils.data import DataLoader


class Summarizer:
    lora = {
        "task_type": TaskType.SEQ_2_SEQ_LM,
        "r": 8,
        "lora_alpha": 16,
        "target_modules": ["q", "v"],
        "inference_mode": True,  # LL403
    }

    def __init__(self, checkpoint):
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
        base = transformers.AutoModelForSeq2SeqLM.from_pretrained(checkpoint)
        self.model = get_peft_model(base, LoraConfig(**self.lora)).to("cuda")
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def collate(self, lines):
        batch = self.tokenizer(lines, padding=True, return_tensors="pt")
        batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        return batch

    def epoch(self, lines):
        self.model.train()
        for batch in DataLoader(lines, batch_size=4, shuffle=True, collate_fn=self.collate):
            self.optimizer.zero_grad()
            self.model(**batch.to("cuda")).loss.backward()
            self.optimizer.step()


if __name__ == "__main__":
    Summarizer("google/flan-t5-base").epoch(open("train.txt").read().splitlines())
