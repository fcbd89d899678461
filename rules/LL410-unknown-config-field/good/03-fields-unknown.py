"""Which fields are set is known at run time only."""

import json

from peft import LoraConfig

with open("lora.json") as file:
    config = LoraConfig(**json.load(file))
