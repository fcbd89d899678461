"""Fine: from transformers 4.48 with bitsandbytes >= 0.43.2 a 4-bit model may be moved."""
# target: transformers==4.57.6 bitsandbytes==0.46.1 peft==0.18.1 accelerate==1.12.0
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig


def load(name, device):
    config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
    model = AutoModelForCausalLM.from_pretrained(name, quantization_config=config)
    return model.to(device)


if __name__ == "__main__":
    tokenizer = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-v0.1")
    model = load("mistralai/Mistral-7B-v0.1", "cuda").eval()
    inputs = tokenizer("Bread is made of", return_tensors="pt").to(model.device)
    with torch.no_grad():
        print(tokenizer.decode(model.generate(**inputs, max_new_tokens=16)[0]))
