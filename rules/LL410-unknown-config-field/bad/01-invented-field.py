"""LoraConfig has no such field: the length of the text is the tokenizer's or the trainer's."""

from peft import LoraConfig, TaskType

config = LoraConfig(
    r=16,
    lora_alpha=32,
    max_length=256,  # LL410
    task_type=TaskType.CAUSAL_LM,
)
