"""A quantized model already has its dtypes: .half() raises on every release, 4-bit or 8-bit."""
import torch
import transformers


class Writer:
    def __init__(self, checkpoint, bits=4):
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
        self.quantization = transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.float16)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, quantization_config=self.quantization)
        self.prepare()

    def prepare(self):
        self.model.eval()

    def write(self, start, tokens=64):
        inputs = self.tokenizer(start, return_tensors="pt").to(self.model.device)
        with torch.inference_mode():
            ids = self.model.generate(**inputs, max_new_tokens=tokens)
        return self.tokenizer.decode(ids[0], skip_special_tokens=True)


if __name__ == "__main__":
    print(Writer("Qwen/Qwen2.5-7B").write("Once upon a time"))
