"""Fine: this release loads the type of the checkpoint."""
# target: transformers==5.0.0
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", attn_implementation="flash_attention_2").cuda()
print(model(torch.ones(1, 4, dtype=torch.long, device="cuda")).logits)
