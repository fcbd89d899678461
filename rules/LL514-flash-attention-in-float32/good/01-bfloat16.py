"""Fine: a type that FlashAttention takes."""
# target: transformers==4.44.2
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", attn_implementation="flash_attention_2", torch_dtype=torch.bfloat16).cuda()
print(model(torch.ones(1, 4, dtype=torch.long, device="cuda")).logits)
