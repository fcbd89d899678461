"""Fine: the same policy is run twice: without gradients for the old log-probabilities, with gradients for the new ones."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


class Updater:
    def __init__(self, name):
        self.tok = AutoTokenizer.from_pretrained(name)
        model = AutoModelForCausalLM.from_pretrained(name)
        self.policy = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")).to("cuda")
        self.opt = torch.optim.AdamW([p for p in self.policy.parameters() if p.requires_grad], lr=1e-6)

    def token_logp(self, ids):
        logits = self.policy(input_ids=ids).logits[:, :-1].float()
        return torch.gather(logits.log_softmax(-1), 2, ids[:, 1:, None]).squeeze(-1)

    @torch.no_grad()
    def collect(self, prompt):
        enc = self.tok(prompt, return_tensors="pt").to("cuda")
        ids = self.policy.generate(**enc, do_sample=True, max_new_tokens=64)
        return ids, self.token_logp(ids)

    def update(self, prompt, reward):
        ids, old = self.collect(prompt)
        self.policy.train()
        for _ in range(2):
            ratio = torch.exp(self.token_logp(ids) - old)
            loss = -(torch.min(ratio * reward, ratio.clamp(0.8, 1.2) * reward)).mean()
            loss.backward()
            self.opt.step()
            self.opt.zero_grad()


updater = Updater("huggyllama/llama-7b")
for line in open("prompts.txt", encoding="utf-8"):
    updater.update(line, reward=1.0)
