"""On the releases that do not know the field, the script stops by itself."""
# target: peft>=0.7

import peft
from packaging import version


def configuration(rank, dora):
    settings = {"r": rank, "lora_alpha": rank}
    if dora:
        if version.parse(peft.__version__) < version.parse("0.9.0"):
            raise ValueError("DoRA needs peft 0.9.0")
        else:
            settings["use_dora"] = True
    return peft.LoraConfig(**settings)
