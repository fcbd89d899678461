"""Fine: .to() keeps the Parameter objects, so an optimizer built before it still holds them."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


class Trainer:
    def __init__(self, name):
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        base = AutoModelForCausalLM.from_pretrained(name)
        self.model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.model.to("cuda")

    def fit(self, lines):
        self.model.train()
        for line in lines:
            batch = self.tokenizer(line, return_tensors="pt").to("cuda")
            self.optimizer.zero_grad()
            self.model(**batch, labels=batch["input_ids"]).loss.backward()
            self.optimizer.step()


if __name__ == "__main__":
    Trainer("Qwen/Qwen2.5-0.5B").fit(open("train.txt").read().splitlines())
