"""Fine: which precision accelerate uses is chosen where the script is started."""
# target: transformers==4.44.2
import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM

accelerator = Accelerator()
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", attn_implementation="flash_attention_2")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
model, optimizer = accelerator.prepare(model, optimizer)
for batch in torch.load("batches.pt"):
    accelerator.backward(model(**batch).loss)
    optimizer.step()
    optimizer.zero_grad()
