"""Fine: transformers 5 lets an 8-bit model through .to(device) when bitsandbytes is 0.48 or newer."""
# target: transformers==5.23.0 bitsandbytes==0.50.2 peft==0.21.2 accelerate==1.15.0
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig


class Reader:
    def __init__(self, checkpoint, device="cuda"):
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.model = AutoModelForCausalLM.from_pretrained(checkpoint, quantization_config=BitsAndBytesConfig(load_in_8bit=True))
        self.model.to(device)
        self.model.eval()

    def loss(self, text):
        batch = self.tokenizer(text, return_tensors="pt").to(self.model.device)
        with torch.no_grad():
            return self.model(**batch, labels=batch["input_ids"]).loss.item()


if __name__ == "__main__":
    reader = Reader("Qwen/Qwen2.5-0.5B")
    for line in open("lines.txt"):
        print(reader.loss(line.strip()))
