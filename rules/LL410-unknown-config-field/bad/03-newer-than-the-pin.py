"""The pinned release does not know DoRA yet; the fields come from a dictionary."""
# target: peft==0.8.2

import peft

SETTINGS = {"r": 8, "lora_alpha": 16, "use_dora": True}  # LL410


class Builder:
    def config(self):
        return peft.LoraConfig(task_type="CAUSAL_LM", **SETTINGS)
