"""An adapter made on a causal model, loaded onto the bare model below it: are its matrices zero? Nothing is emulated."""

import torch
from _common import Answer, lora, report, saved, tiny_llama


def ask() -> Answer:
    from peft import PeftModel, get_peft_model

    model = get_peft_model(tiny_llama(), lora(task_type=None))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    again = PeftModel.from_pretrained(tiny_llama().model, saved(model))
    zero = [not p.any() for name, p in again.named_parameters() if "lora_B" in name]
    return Answer(all(zero), why=f"{sum(zero)} of {len(zero)} matrices are zero")


report(ask)
