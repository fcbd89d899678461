"""The map names the second GPU, the inputs go to the first."""
import torch
import transformers


class Judge:
    """Scores answers on the card that the policy does not use."""

    def __init__(self, checkpoint):
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, torch_dtype=torch.bfloat16, device_map="cuda:1")
        self.model.eval()

    def encode(self, question, answer):
        ids = self.tokenizer(question + "\n" + answer, return_tensors="pt").input_ids
        return ids.to("cuda:0")  # LL304

    @torch.no_grad()
    def loss(self, question, answer):
        ids = self.encode(question, answer)
        return self.model(input_ids=ids, labels=ids).loss.item()


if __name__ == "__main__":
    judge = Judge("Qwen/Qwen2.5-7B")
    print(judge.loss("What is 2 + 2?", "4"))
