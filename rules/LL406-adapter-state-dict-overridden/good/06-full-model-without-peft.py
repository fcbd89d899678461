"""Fine: no adapter is involved, the override leaves out buffers of a fully trained model."""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


class Run:
    def __init__(self, name):
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        self.model = AutoModelForCausalLM.from_pretrained(name).to("cuda")
        self.model.state_dict = lambda *args, **kwargs: {k: v.detach().cpu() for k, v in self.model.named_parameters()}

    def fit(self, lines):
        self.model.train()
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5)
        for line in lines:
            batch = self.tokenizer(line, return_tensors="pt").to("cuda")
            optimizer.zero_grad()
            self.model(**batch, labels=batch["input_ids"]).loss.backward()
            optimizer.step()
        torch.save(self.model.state_dict(), "weights.pt")


if __name__ == "__main__":
    Run("openai-community/gpt2").fit(open("train.txt").read().splitlines())
