"""The loss is detached before backward(): it has no graph left."""
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

device = torch.device("cuda")
tokenizer = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
tokenizer.pad_token = tokenizer.unk_token
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")).to(device)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

lines = open("train.txt", encoding="utf-8").read().splitlines()
model.train()
for step, texts in enumerate(DataLoader(lines, batch_size=4, shuffle=True, collate_fn=list)):
    batch = tokenizer(texts, return_tensors="pt", padding=True).to(device)
    loss = model(**batch, labels=batch["input_ids"]).loss  # LL102
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
model.save_pretrained("lora")
