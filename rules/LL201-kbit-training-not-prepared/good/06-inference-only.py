"""Fine: the 4-bit model gets a trained adapter and only generates."""
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

NAME = "huggyllama/llama-7b"
bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained(NAME, quantization_config=bnb, device_map={"": 0})
model = PeftModel.from_pretrained(model, "lora").eval()
tok = AutoTokenizer.from_pretrained(NAME)
with torch.inference_mode():
    batch = tok("The first law says", return_tensors="pt").to(model.device)
    print(tok.decode(model.generate(**batch, max_new_tokens=40)[0]))
