"""Each process keeps its copy on its own GPU, but .to("cuda") means GPU 0 in every one of them."""
import os

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

local_rank = int(os.environ.get("LOCAL_RANK", "0"))
name = "mistralai/Mistral-7B-v0.1"
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16, device_map={"": local_rank})
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
model.train()

optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt").read().splitlines()[local_rank::2]:
    batch = tokenizer(line, return_tensors="pt").to(model.device)  # LL304
    loss = model(**batch, labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
