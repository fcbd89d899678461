"""Fine: each tensor of the batch is moved under its own key."""
import torch
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, default_data_collator

model = AutoModelForCausalLM.from_pretrained("gpt2").cuda().train()
opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
for batch in torch.utils.data.DataLoader(load_from_disk("rows"), batch_size=4, collate_fn=default_data_collator):
    for key in batch:
        batch[key] = batch[key].cuda()
    model(**batch).loss.backward()
    opt.step()
    opt.zero_grad()
