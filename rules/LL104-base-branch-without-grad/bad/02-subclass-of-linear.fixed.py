"""A subclass of nn.Linear detaches what its parent computes."""
import torch
import torch.nn as nn
from datasets import load_from_disk
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments


class LowRank(nn.Linear):
    def __init__(self, source: nn.Linear, r: int, alpha: int):
        super().__init__(source.in_features, source.out_features, bias=source.bias is not None)
        self.load_state_dict(source.state_dict())
        self.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(r, source.in_features) * 0.02)
        self.lora_b = nn.Parameter(torch.zeros(source.out_features, r))
        self.scale = alpha / r

    def forward(self, inputs):
        result = super().forward(inputs)  # LL104
        return result + (inputs @ self.lora_a.T @ self.lora_b.T) * self.scale


def adapt(model, r=8, alpha=16):
    for block in model.bert.encoder.layer:
        attention = block.attention.self
        attention.query = LowRank(attention.query, r, alpha)
        attention.value = LowRank(attention.value, r, alpha)
    return model


def main():
    tok = AutoTokenizer.from_pretrained("bert-base-uncased")
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
    model.bert.requires_grad_(False)
    args = TrainingArguments("low-rank", learning_rate=3e-4, per_device_train_batch_size=16)
    data = load_from_disk("reviews")
    Trainer(model=adapt(model), args=args, train_dataset=data, data_collator=DataCollatorWithPadding(tok)).train()


if __name__ == "__main__":
    main()
