"""Trained on the causal model, loaded onto the bare one for its vectors."""
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

BASE = "Qwen/Qwen2.5-0.5B"
tokenizer = AutoTokenizer.from_pretrained(BASE)
model = get_peft_model(AutoModelForCausalLM.from_pretrained(BASE), LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for line in open("train.txt"):
    batch = tokenizer(line, return_tensors="pt")
    model(**batch, labels=batch["input_ids"]).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained("out")

encoder = PeftModel.from_pretrained(AutoModel.from_pretrained(BASE), "out")  # LL416
print(encoder(**tokenizer("a query", return_tensors="pt")).last_hidden_state)
