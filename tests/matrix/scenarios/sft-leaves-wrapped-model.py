"""SFTTrainer with checkpointing around a PeftModel: does training find no graph? Nothing is emulated.

Can only be asked where checkpointing itself needs the inputs' gradients.
"""

from _common import NO_GRAPH, Answer, CannotAskError, checkpointing_needs_input_grads, fails_with, lora, report, sft_trainer, tiny_llama


def ask() -> Answer:
    from peft import get_peft_model

    if not checkpointing_needs_input_grads():
        raise CannotAskError("checkpointing needs no input gradients here")
    trainer = sft_trainer(get_peft_model(tiny_llama(), lora()), {"gradient_checkpointing": True})
    return fails_with(NO_GRAPH, trainer.train)


report(ask)
