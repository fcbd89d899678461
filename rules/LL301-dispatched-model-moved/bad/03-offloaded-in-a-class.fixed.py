"""Part of the model is kept in main memory for a small card; moving the model raises at once."""
import torch
import transformers


class Chat:
    """Answers with a model that is larger than the card."""

    def __init__(self, checkpoint, gpu_layers="12GiB"):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            checkpoint,
            torch_dtype=torch.float16,
            device_map={"model": 0, "lm_head": "cpu"},
            offload_folder="offload",
        )
        self.model.eval()

    @torch.no_grad()
    def answer(self, text):
        inputs = self.tokenizer(text, return_tensors="pt").to(self.model.device)
        ids = self.model.generate(**inputs, max_new_tokens=48)
        return self.tokenizer.decode(ids[0], skip_special_tokens=True)


if __name__ == "__main__":
    chat = Chat("mistralai/Mistral-7B-v0.1")
    print(chat.answer("Why is the sky blue?"))
