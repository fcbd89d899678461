"""Every release that the project allows has the field."""
# target: peft>=0.10,<0.18

from peft import LoraConfig

config = LoraConfig(r=8, use_dora=True, layers_to_transform=[0, 1], task_type="CAUSAL_LM")
