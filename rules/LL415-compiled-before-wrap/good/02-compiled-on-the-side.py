"""Fine: the compiled model is another object, the adapters are attached to the plain one."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
fast = torch.compile(base)
fast(input_ids=torch.ones(1, 8, dtype=torch.long))
model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for batch in torch.load("batches.pt"):
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained("out")
