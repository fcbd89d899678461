"""BitsAndBytesConfig takes any keyword, so the misspelt one leaves the compute type at float32."""
# fix: unsafe

import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

config = BitsAndBytesConfig(
    load_in_4bit=True,
    bnb_4bit_quant_type="nf4",
    bnb_4bit_compute_type=torch.bfloat16,  # LL705
)
model = AutoModelForCausalLM.from_pretrained("gpt2", quantization_config=config)
