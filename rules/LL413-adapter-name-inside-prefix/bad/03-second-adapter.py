"""A second adapter of that name, from an option that most people leave as it is; no release is pinned."""
import argparse

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


class Runner:
    def __init__(self, args):
        self.args = args
        base = AutoModelForCausalLM.from_pretrained(args.base)
        self.model = get_peft_model(base, LoraConfig(r=4, task_type="CAUSAL_LM"))
        self.model.add_adapter("lora", LoraConfig(r=8, task_type="CAUSAL_LM"))  # LL413
        self.model.set_adapter("lora")

    def run(self, batches):
        optimizer = torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], lr=1e-4)
        for batch in batches:
            self.model(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        self.model.save_pretrained(self.args.out)


parser = argparse.ArgumentParser()
parser.add_argument("--base", default="Qwen/Qwen2.5-0.5B")
parser.add_argument("--out", default="out")
Runner(parser.parse_args()).run(torch.load("batches.pt"))
