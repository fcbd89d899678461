"""Fine: a module of this script defines its own state_dict(); the PeftModel inside keeps the original one."""
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer


class Policy(nn.Module):
    def __init__(self, name):
        super().__init__()
        base = AutoModelForCausalLM.from_pretrained(name)
        self.lm = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))

    def forward(self, ids):
        return self.lm(input_ids=ids, labels=ids).loss

    def state_dict(self, *args, **kwargs):
        return get_peft_model_state_dict(self.lm)


if __name__ == "__main__":
    tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
    policy = Policy("Qwen/Qwen2.5-0.5B").cuda().train()
    optimizer = torch.optim.AdamW([p for p in policy.parameters() if p.requires_grad], lr=1e-4)
    for line in open("train.txt"):
        loss = policy(tokenizer(line.strip(), return_tensors="pt").input_ids.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    policy.lm.save_pretrained("runs/policy")
