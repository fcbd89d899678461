"""The trainer computes the loss by itself, from the ids."""
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


class NextToken(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        out = model(**inputs)
        loss = F.cross_entropy(out.logits[:, :-1].flatten(0, 1), inputs["input_ids"][:, 1:].flatten())
        return (loss, out) if return_outputs else loss


def collate(rows):
    return {"input_ids": rows[0]["ids"], "attention_mask": rows[0]["mask"]}


def main(rows):
    model = AutoModelForCausalLM.from_pretrained("org/base")
    NextToken(model, TrainingArguments("out"), data_collator=collate, train_dataset=rows).train()
