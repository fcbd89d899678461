"""Fine: the adapter is trained and used in one run, and merged before anything is saved."""
# target: transformers==4.44.2 peft==0.12.0
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"), adapter_name="lora")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for batch in torch.load("batches.pt"):
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model = model.merge_and_unload()
model.save_pretrained("out")
