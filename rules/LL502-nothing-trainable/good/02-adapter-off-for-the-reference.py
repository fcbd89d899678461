"""Fine: the adapter is off only for the reference pass of a preference loss, which needs no gradient."""
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


class Preference:
    def __init__(self, name, beta=0.1):
        self.beta = beta
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        base = AutoModelForCausalLM.from_pretrained(name).to("cuda")
        self.model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
        self.optimizer = torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], lr=1e-5)

    def logp(self, text):
        ids = self.tokenizer(text, return_tensors="pt").input_ids.to("cuda")
        return -self.model(input_ids=ids, labels=ids).loss * (ids.shape[1] - 1)

    def step(self, chosen, rejected):
        with torch.no_grad(), self.model.disable_adapter():
            reference = self.logp(chosen) - self.logp(rejected)
        loss = -F.logsigmoid(self.beta * (self.logp(chosen) - self.logp(rejected) - reference))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


if __name__ == "__main__":
    preference = Preference("Qwen/Qwen2.5-0.5B")
    preference.model.train()
    lines = open("train.txt").read().splitlines()
    for chosen, rejected in zip(lines[::2], lines[1::2]):
        preference.step(chosen, rejected)
