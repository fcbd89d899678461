"""Fine: the policy is updated in evaluation mode, on purpose, where checkpointing is inactive although it was enabled."""
# target: transformers==4.44.2 peft==0.12.0
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

NAME = "huggyllama/llama-7b"
tok = AutoTokenizer.from_pretrained(NAME)
policy = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16).to("cuda")
policy = get_peft_model(policy, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
policy.gradient_checkpointing_enable()
policy.eval()
optimizer = torch.optim.AdamW([p for p in policy.parameters() if p.requires_grad], lr=1e-6)
for prompt in open("prompts.txt", encoding="utf-8"):
    enc = tok(prompt, return_tensors="pt").to("cuda")
    ids = policy.generate(**enc, do_sample=True, max_new_tokens=32)
    reward = float(len(set(ids[0].tolist())))
    loss = reward * policy(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
