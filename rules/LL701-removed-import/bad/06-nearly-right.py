"""No release ever had this spelling."""

from peft import LoraConfig, TaskTypes  # LL701

config = LoraConfig(r=8, lora_alpha=16, task_type=TaskTypes.CAUSAL_LM)
