"""The state dict of the PeftModel goes into a fresh base, and strict=False hides that nothing fits."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

BASE = "Qwen/Qwen2.5-0.5B"
model = get_peft_model(AutoModelForCausalLM.from_pretrained(BASE), LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for batch in torch.load("batches.pt"):
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
torch.save(model.state_dict(), "lora.pt")

fresh = AutoModelForCausalLM.from_pretrained(BASE)
fresh.load_state_dict(torch.load("lora.pt", map_location="cpu"), strict=False)  # LL417
print(fresh.generate(input_ids=torch.ones(1, 4, dtype=torch.long)))
