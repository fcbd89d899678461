"""Fine: the helper leaves the adapters and the head trainable, by the names that it is given."""
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification, default_data_collator


def freeze(model, keep=()):
    for name, parameter in model.named_parameters():
        if not any(part in name for part in keep):
            parameter.requires_grad = False
    return model


model = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=1)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["query", "value"], task_type="SEQ_CLS"))
model = freeze(model, keep=("lora_", "classifier")).cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
for batch in torch.utils.data.DataLoader(load_from_disk("rows"), batch_size=8, collate_fn=default_data_collator):
    model(**{k: v.cuda() for k, v in batch.items()}).loss.backward()
    opt.step()
    opt.zero_grad()
