"""target_modules="all-linear": accepted, with an adapter on each of the seven linear layers of a block? Nothing is emulated."""

from _common import Answer, failure, lora, report, tiny_llama


def ask() -> Answer:
    from peft import get_peft_model

    model = tiny_llama()
    message = failure(lambda: get_peft_model(model, lora(target_modules="all-linear")))
    adapted = sum("lora_A" in name for name, _ in model.named_parameters())
    return Answer(not message and adapted == 14, why=message or f"{adapted} layers have adapters")


report(ask)
