"""LoRA on a tiny Llama, checkpointing switched on after the wrap, two steps: does backward() find no graph? Nothing is emulated."""

from _common import NO_GRAPH, Answer, fails_with, lora, report, tiny_llama, train


def ask() -> Answer:
    from peft import get_peft_model

    model = get_peft_model(tiny_llama(), lora())
    model.gradient_checkpointing_enable()
    return fails_with(NO_GRAPH, lambda: train(model))


report(ask)
