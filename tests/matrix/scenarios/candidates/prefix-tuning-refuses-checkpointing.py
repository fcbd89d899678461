"""Prefix tuning on a model with checkpointing: refused? Nothing is emulated."""

from _common import Answer, fails_with, report, tiny_llama


def ask() -> Answer:
    from peft import PrefixTuningConfig, get_peft_model

    model = tiny_llama()
    model.gradient_checkpointing_enable()
    config = PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    return fails_with("does not work with gradient checkpointing", lambda: get_peft_model(model, config))


report(ask)
