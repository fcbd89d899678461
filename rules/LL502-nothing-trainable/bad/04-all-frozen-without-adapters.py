"""All parameters of a model without adapters are frozen, and then it is trained."""

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification


def train(dataset):
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2).to("cuda")
    for parameter in model.parameters():
        parameter.requires_grad = False  # LL502
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()
    for batch in DataLoader(dataset, batch_size=8):
        loss = model(**{key: value.to("cuda") for key, value in batch.items()}).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
