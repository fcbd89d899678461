"""Fine: the model is only built under no_grad; parameters made there still record their forward."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


@torch.no_grad()
def load(name):
    model = AutoModelForCausalLM.from_pretrained(name).to("cuda")
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))
    for key, parameter in model.named_parameters():
        if "lora_A" in key:
            parameter.mul_(0.5)
    return model


tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = load("huggyllama/llama-7b")
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
model.train()
for line in open("train.txt", encoding="utf-8"):
    ids = tok(line, return_tensors="pt").input_ids.to("cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    opt.step()
    opt.zero_grad()
