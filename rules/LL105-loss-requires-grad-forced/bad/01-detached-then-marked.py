"""The loss is detached, and marked again so that backward() does not complain: it trains nothing."""
# fix: unsafe
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")).to("cuda")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

model.train()
for line in open("train.txt", encoding="utf-8"):
    ids = tok(line, return_tensors="pt").input_ids.to("cuda")
    loss = model(input_ids=ids, labels=ids).loss
    loss = loss.detach()  # LL102
    loss.requires_grad_(True)  # LL105
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained("lora")
