"""Fine: the layers of a quantized model compute in another type."""
# target: transformers==4.44.2
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", attn_implementation="flash_attention_2", quantization_config=config)
print(model(torch.ones(1, 4, dtype=torch.long, device="cuda")).logits)
