"""Fine: the adapters first, then the compilation."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
fast = torch.compile(model)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for batch in torch.load("batches.pt"):
    fast(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained("out")
