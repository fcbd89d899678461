"""Fine: the frozen copy is the reference of a preference loss; the policy is loaded as trainable."""
import torch
import torch.nn.functional as F
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer


def with_adapter(name, adapter, **options):
    return PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(name), adapter, **options).to("cuda")


def logp(model, ids):
    return -model(input_ids=ids, labels=ids).loss * (ids.shape[1] - 1)


name = "Qwen/Qwen2.5-0.5B"
tokenizer = AutoTokenizer.from_pretrained(name)
policy = with_adapter(name, "runs/sft", is_trainable=True).train()
reference = with_adapter(name, "runs/sft").eval()
optimizer = torch.optim.AdamW([p for p in policy.parameters() if p.requires_grad], lr=1e-5)
lines = open("train.txt").read().splitlines()
for good, bad in zip(lines[::2], lines[1::2]):
    chosen, rejected = (tokenizer(text, return_tensors="pt").input_ids.to("cuda") for text in (good, bad))
    with torch.no_grad():
        margin = logp(reference, chosen) - logp(reference, rejected)
    loss = -F.logsigmoid(0.1 * (logp(policy, chosen) - logp(policy, rejected) - margin))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
