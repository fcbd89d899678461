"""A class of the project adds fields."""

from dataclasses import dataclass

from peft import LoraConfig


@dataclass
class TaskLoraConfig(LoraConfig):
    max_length: int = 256


config = TaskLoraConfig(r=8, max_length=512, task_type="CAUSAL_LM")
