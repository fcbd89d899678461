"""Fine: the model is cast before it is used."""
# target: transformers==4.44.2
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", attn_implementation="flash_attention_2")
model = model.to("cuda", torch.bfloat16)
print(model(torch.ones(1, 4, dtype=torch.long, device="cuda")).logits)
