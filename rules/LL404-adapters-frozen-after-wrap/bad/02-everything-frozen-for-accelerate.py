"""requires_grad_(False) on the wrapped model, meant for the base, takes the adapters along."""
import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

accelerator = Accelerator()
tokenizer = AutoTokenizer.from_pretrained("google/flan-t5-small")
model = AutoModelForSeq2SeqLM.from_pretrained("google/flan-t5-small")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q", "v"], task_type="SEQ_2_SEQ_LM"))
model.requires_grad_(False)  # LL404


def collate(lines):
    batch = tokenizer(lines, padding=True, return_tensors="pt")
    return {**batch, "labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}


optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(open("train.txt").read().splitlines(), batch_size=4, collate_fn=collate)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
model.train()
for batch in loader:
    loss = model(**batch).loss
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
