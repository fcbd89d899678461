"""SFTTrainer with a PeftModel and peft_config: refused? Nothing is emulated."""

from _common import Answer, fails_with, lora, report, sft_trainer, tiny_llama


def ask() -> Answer:
    from peft import get_peft_model

    text = "You passed a `PeftModel` instance together with"
    return fails_with(text, lambda: sft_trainer(get_peft_model(tiny_llama(), lora()), peft_config=lora()))


report(ask)
