"""The compiled model has a name of its own, in a class."""
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification


class Classifier:
    def __init__(self, base: str, labels: int) -> None:
        plain = AutoModelForSequenceClassification.from_pretrained(base, num_labels=labels)
        fast = torch.compile(plain, dynamic=True)
        self.net = get_peft_model(fast, LoraConfig(r=8, task_type="SEQ_CLS"))  # LL415

    def fit(self, batches) -> None:
        optimizer = torch.optim.AdamW([p for p in self.net.parameters() if p.requires_grad], lr=1e-3)
        for batch in batches:
            self.net(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        self.net.save_pretrained("classifier")


Classifier("distilbert/distilbert-base-uncased", 3).fit(torch.load("batches.pt"))
