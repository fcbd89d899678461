"""The forward of the training step was copied from the evaluation loop, torch.no_grad() included."""
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
tokenizer.pad_token = tokenizer.unk_token
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")).to("cuda")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

model.train()
lines = open("train.txt", encoding="utf-8").read().splitlines()
for texts in DataLoader(lines, batch_size=8, shuffle=True, collate_fn=list):
    batch = tokenizer(texts, return_tensors="pt", padding=True).to("cuda")
    outputs = model(**batch, labels=batch["input_ids"])  # LL103
    outputs.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained("lora")
