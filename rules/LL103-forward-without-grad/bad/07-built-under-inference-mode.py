"""Weights that are loaded under inference_mode are inference tensors: no forward over them is recorded."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def load(name):
    with torch.inference_mode():  # LL103
        model = AutoModelForCausalLM.from_pretrained(name).to("cuda")
        return get_peft_model(model, LoraConfig(r=8, target_modules=["query_key_value"], task_type="CAUSAL_LM"))


def main():
    tok = AutoTokenizer.from_pretrained("EleutherAI/pythia-410m")
    model = load("EleutherAI/pythia-410m")
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    model.train()
    for line in open("train.txt", encoding="utf-8"):
        ids = tok(line, return_tensors="pt").input_ids.to("cuda")
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        opt.step()
        opt.zero_grad()


main()
