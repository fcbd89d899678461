"""Checkpointing is asked for, and the model stays in the mode of from_pretrained."""

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
import torch

class Tuner:
    def __init__(self):
        base = AutoModelForCausalLM.from_pretrained("org/model")
        base.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        self.net = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM"))
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-4)

    def fit(self, batches):
        for batch in batches:
            loss = self.net(**batch).loss  # LL107
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


Tuner().fit(torch.load("batches.pt"))
