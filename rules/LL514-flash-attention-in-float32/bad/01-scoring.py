"""FlashAttention without a type: float32 on these releases."""
# target: transformers==4.44.2
# fix: unsafe
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained(
    "Qwen/Qwen2.5-0.5B",
    attn_implementation="flash_attention_2",  # LL514
    device_map={"": 0},
)
ids = tokenizer("a text", return_tensors="pt").input_ids.to(model.device)
with torch.no_grad():
    print(model(ids).logits.log_softmax(-1).max())
