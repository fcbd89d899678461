"""The evaluation leaves eval() on, and train() stands before the loop over epochs."""

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
import torch

model = AutoModelForCausalLM.from_pretrained("org/model")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.1))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)


def run(train_batches, dev_batches):
    model.train()
    for epoch in range(3):
        for batch in train_batches:
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        model.eval()  # LL107
        with torch.no_grad():
            print(epoch, sum(model(**batch).loss.item() for batch in dev_batches))
