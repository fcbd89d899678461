"""A helper evaluates every epoch and never goes back."""

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
import torch

def evaluate(net, batches):
    net.eval()
    with torch.no_grad():
        return sum(net(**batch).loss.item() for batch in batches)


def main(train_batches, dev_batches):
    model = get_peft_model(AutoModelForCausalLM.from_pretrained("org/model"), LoraConfig(task_type="CAUSAL_LM"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()
    while True:
        for batch in train_batches:
            model(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print(evaluate(model, dev_batches))  # LL107


if __name__ == "__main__":
    main(torch.load("train.pt"), torch.load("dev.pt"))
