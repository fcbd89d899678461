"""Fine: float16 weights in a loop whose scaler is switched off."""
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.float16).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda", enabled=False)
for batch in torch.load("batches.pt"):
    scaler.scale(model(**batch).loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
