"""An adapter named "lora", saved and loaded again: are its matrices zero? Nothing is emulated."""

from pathlib import Path

import torch
from _common import Answer, lora, report, saved, tiny_llama


def ask() -> Answer:
    from peft import PeftModel, get_peft_model

    model = get_peft_model(tiny_llama(), lora(), adapter_name="lora")
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    again = PeftModel.from_pretrained(tiny_llama(), str(Path(saved(model)) / "lora"))
    zero = [not p.any() for name, p in again.named_parameters() if "lora_B" in name]
    return Answer(all(zero), why=f"{sum(zero)} of {len(zero)} matrices are zero")


report(ask)
