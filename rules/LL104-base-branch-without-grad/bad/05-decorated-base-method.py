"""The base path lives in a decorated method; the adapter multiplies its result and adds a low-rank part."""
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, default_data_collator


class GatedLora(nn.Module):
    def __init__(self, original: nn.Linear, rank: int = 8):
        super().__init__()
        self.original = original
        self.original.weight.requires_grad = False
        self.a = nn.Linear(original.in_features, rank, bias=False)
        self.b = nn.Linear(rank, original.out_features, bias=False)
        self.gate = nn.Parameter(torch.ones(original.out_features))
        nn.init.zeros_(self.b.weight)

    @torch.no_grad()  # LL104
    def _base(self, x):
        return self.original(x)

    def forward(self, x):
        return self.gate * self._base(x) + self.b(self.a(x))


class Lines(torch.utils.data.Dataset):
    def __init__(self, path, tok):
        self.rows = [tok(line)["input_ids"][:128] for line in open(path, encoding="utf-8")]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


def main(name="huggyllama/llama-7b"):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float32)
    model.requires_grad_(False)
    for block in model.model.layers:
        block.self_attn.o_proj = GatedLora(block.self_attn.o_proj)
    args = TrainingArguments("gated", per_device_train_batch_size=1, max_steps=1000)
    data = Lines("train.txt", AutoTokenizer.from_pretrained(name))
    Trainer(model=model, args=args, train_dataset=data, data_collator=default_data_collator).train()


if __name__ == "__main__":
    main()
