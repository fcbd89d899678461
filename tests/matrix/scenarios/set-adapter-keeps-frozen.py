"""A second adapter loaded, set_adapter() called with it, two steps: is it frozen still? Nothing is emulated."""

from _common import NO_GRAPH, Answer, adapter_folder, fails_with, lora, report, tiny_llama, train


def ask() -> Answer:
    from peft import get_peft_model

    model = get_peft_model(tiny_llama(), lora())
    model.load_adapter(adapter_folder(), "second")
    model.set_adapter("second")
    return fails_with(NO_GRAPH, lambda: train(model))


report(ask)
