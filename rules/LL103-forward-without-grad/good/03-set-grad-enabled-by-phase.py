"""Fine: set_grad_enabled(train) is on in the training phase, the only one that calls backward()."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

tok = AutoTokenizer.from_pretrained("huggyllama/llama-7b")
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")).to("cuda")
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)


def run(path, train):
    model.train(train)
    total = 0.0
    for line in open(path, encoding="utf-8"):
        ids = tok(line, return_tensors="pt").input_ids.to("cuda")
        with torch.set_grad_enabled(train):
            loss = model(input_ids=ids, labels=ids).loss
        if train:
            loss.backward()
            opt.step()
            opt.zero_grad()
        total += loss.item()
    return total


for _ in range(2):
    print(run("train.txt", True), run("dev.txt", False))
