"""Trainer.save_model() of a LoRA model under ZeRO-3 without stage3_gather_16bit_weights_on_model_save: are no adapter weights saved?

Emulated: the engine is a stand-in. Asked for the whole state, it refuses as accelerate does for such a configuration; asked for the trainable part
alone, as newer releases do, it hands that out, which DeepSpeed does whatever the configuration says.
"""

import tempfile
from pathlib import Path
from types import SimpleNamespace

import torch
from _common import Answer, CannotAskError, lora, report, tiny_llama


class Engine:
    """What the trainer asks of a DeepSpeed engine when it saves."""

    config = {"zero_optimization": {"stage": 3}}  # noqa: RUF012

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model

    def save_checkpoint(self, folder: str, exclude_frozen_parameters: bool = False) -> None:
        Path(folder, "global_step0").mkdir(parents=True, exist_ok=True)

    def _zero3_consolidated_16bit_state_dict(self, exclude_frozen_parameters: bool = False) -> dict[str, torch.Tensor]:
        return {name: p.detach() for name, p in self.model.named_parameters() if p.requires_grad}


def refuse(*_: object, **__: object) -> None:
    raise ValueError("Cannot get 16bit model weights because `stage3_gather_16bit_weights_on_model_save` in DeepSpeed config is False.")


def ask() -> Answer:
    from peft import get_peft_model
    from safetensors.torch import load_file
    from transformers import Trainer, TrainingArguments

    model = get_peft_model(tiny_llama(), lora())
    trainer = Trainer(model=model, args=TrainingArguments(tempfile.mkdtemp(), report_to=[]))
    trainer.is_deepspeed_enabled = True
    trainer.deepspeed = trainer.model_wrapped = Engine(model)
    trainer.accelerator = SimpleNamespace(get_state_dict=refuse, unwrap_model=lambda model, **_: model, is_main_process=True)
    folder = tempfile.mkdtemp()
    trainer.save_model(folder)
    files = [file for file in Path(folder).iterdir() if file.name.startswith("adapter_model")]
    tensors = sum(len(load_file(file) if file.suffix == ".safetensors" else torch.load(file)) for file in files)
    if tensors not in (0, 8):
        raise CannotAskError(f"{tensors} of 8 tensors were saved")
    return Answer(tensors == 0, why=f"{tensors} of 8 tensors were saved", how="emulated")


report(ask)
