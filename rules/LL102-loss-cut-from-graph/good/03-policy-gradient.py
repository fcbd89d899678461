"""Fine: rewards, advantages and the old log-probabilities are constants by intention; the new log-probabilities carry the gradient."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

NAME = "huggyllama/llama-7b"
tok = AutoTokenizer.from_pretrained(NAME)
policy = AutoModelForCausalLM.from_pretrained(NAME)
policy = get_peft_model(policy, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")).to("cuda")
opt = torch.optim.AdamW([p for p in policy.parameters() if p.requires_grad], lr=1e-6)


def logp(ids):
    logits = policy(input_ids=ids).logits[:, :-1].float()
    return torch.gather(logits.log_softmax(-1), 2, ids[:, 1:, None]).squeeze(-1)


policy.train()
for prompt in open("prompts.txt", encoding="utf-8"):
    enc = tok(prompt, return_tensors="pt").to("cuda")
    ids = policy.generate(**enc, do_sample=True, num_return_sequences=4, max_new_tokens=32, min_new_tokens=32)
    rewards = torch.tensor([float(len(set(row.tolist()))) for row in ids]).to("cuda")
    advantages = ((rewards - rewards.mean()) / (rewards.std() + 1e-4)).detach()
    new = logp(ids)
    ratio = torch.exp(new - new.detach())
    loss = -(ratio * advantages[:, None]).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
