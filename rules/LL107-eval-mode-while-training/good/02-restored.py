"""The evaluation restores the mode that it found."""

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
import torch

model = AutoModelForCausalLM.from_pretrained("org/model")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.1))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)


def evaluate(batches):
    was = model.training
    model.eval()
    with torch.no_grad():
        total = sum(model(**batch).loss.item() for batch in batches)
    model.train(was)
    return total


def run(train_batches, dev_batches):
    model.train()
    for epoch in range(3):
        for batch in train_batches:
            model(**batch).loss.backward()
            optimizer.step()
        print(epoch, evaluate(dev_batches))
