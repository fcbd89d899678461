"""Fine: the forward runs under autocast."""
# target: transformers==4.44.2
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", attn_implementation="flash_attention_2").cuda()
with torch.autocast("cuda", dtype=torch.bfloat16):
    print(model(torch.ones(1, 4, dtype=torch.long, device="cuda")).logits)
