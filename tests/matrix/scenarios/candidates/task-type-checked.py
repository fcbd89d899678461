"""LoraConfig(task_type="causal_lm"), a spelling that does not exist: refused? Nothing is emulated."""

from _common import Answer, fails_with, lora, report


def ask() -> Answer:
    return fails_with("Invalid task type: 'causal_lm'", lambda: lora(task_type="causal_lm"))


report(ask)
