"""state_dict replaced by one that returns get_peft_model_state_dict(), then save_pretrained(): is no tensor saved? Nothing is emulated."""

from pathlib import Path

import torch
from _common import Answer, CannotAskError, lora, report, saved, tiny_llama


def ask() -> Answer:
    from peft import get_peft_model, get_peft_model_state_dict
    from safetensors.torch import load_file

    model = get_peft_model(tiny_llama(), lora())
    whole = model.state_dict
    model.state_dict = (lambda self, *_, **__: get_peft_model_state_dict(self, whole())).__get__(model, type(model))
    folder = Path(saved(model))
    file = next(folder.glob("adapter_model.*"))
    tensors = len(load_file(file) if file.suffix == ".safetensors" else torch.load(file))
    if tensors not in (0, 8):
        raise CannotAskError(f"{tensors} of 8 tensors were saved")
    return Answer(tensors == 0, why=f"{tensors} of 8 tensors were saved")


report(ask)
