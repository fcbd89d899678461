"""masked_fill over the padding, which is the EOS that each text ends in."""
import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained("gpt2").train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)


def collate(rows):
    enc = tokenizer([r + tokenizer.eos_token for r in rows], padding="longest", return_tensors="pt")
    enc["labels"] = enc.input_ids.clone().masked_fill(enc.input_ids == tokenizer.pad_token_id, -100)  # LL506
    return enc


for batch in DataLoader(open("lines.txt").read().splitlines(), batch_size=8, collate_fn=collate):
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
