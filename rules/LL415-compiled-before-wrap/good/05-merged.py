"""Fine: nothing is saved but the merged weights."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

model = torch.compile(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"))
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for batch in torch.load("batches.pt"):
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
merged = model.merge_and_unload()
merged.save_pretrained("out")
