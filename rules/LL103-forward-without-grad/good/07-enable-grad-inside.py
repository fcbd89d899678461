"""Fine: the driver runs without gradients by default, the training step enables them again."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


@torch.enable_grad()
def training_step(model, opt, ids):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss.item()


@torch.no_grad()
def drive(name="huggyllama/llama-7b"):
    tok = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM")).to("cuda")
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    model.train()
    for line in open("train.txt", encoding="utf-8"):
        ids = tok(line, return_tensors="pt").input_ids.to("cuda")
        print(training_step(model, opt, ids))


drive()
