"""AdamW left transformers in 4.50.0, and torch's has another default weight decay, so that nothing is put in its place unasked."""

import torch
from torch.utils.data import DataLoader
from transformers import AdamW, AutoModelForSequenceClassification, get_linear_schedule_with_warmup  # LL701


def train(dataset, epochs=3):
    model = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=2).to("cuda")
    loader = DataLoader(dataset, batch_size=16, shuffle=True)
    optimizer = AdamW(model.parameters(), lr=2e-5)
    schedule = get_linear_schedule_with_warmup(optimizer, 100, epochs * len(loader))
    model.train()
    for _ in range(epochs):
        for batch in loader:
            loss = model(**{key: value.to("cuda") for key, value in batch.items()}).loss
            loss.backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    torch.save(model.state_dict(), "model.pt")
