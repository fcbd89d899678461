"""Fine: no map is involved, the script itself puts both the model and its inputs on "cuda"."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


class Tuner:
    def __init__(self, name):
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForCausalLM.from_pretrained(name).to("cuda")
        self.model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
        self.optimizer = torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], lr=1e-4)

    def step(self, line):
        batch = self.tokenizer(line, return_tensors="pt").to("cuda")
        loss = self.model(**batch, labels=batch["input_ids"]).loss
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


if __name__ == "__main__":
    tuner = Tuner("Qwen/Qwen2.5-0.5B")
    tuner.model.train()
    for line in open("train.txt"):
        tuner.step(line.strip())
