"""merge_and_unload() whose result is dropped, then save_pretrained() of the PeftModel: is no tensor saved? Nothing is emulated."""

from pathlib import Path

import torch
from _common import Answer, CannotAskError, lora, report, saved, tiny_llama


def ask() -> Answer:
    from peft import get_peft_model
    from safetensors.torch import load_file

    model = get_peft_model(tiny_llama(), lora())
    model.merge_and_unload()
    file = next(Path(saved(model)).glob("adapter_model.*"))
    tensors = len(load_file(file) if file.suffix == ".safetensors" else torch.load(file))
    if tensors not in (0, 8):
        raise CannotAskError(f"{tensors} tensors were saved")
    return Answer(tensors == 0, why=f"{tensors} of 8 tensors were saved")


report(ask)
