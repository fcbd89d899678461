"""A list that is sorted in the call, for a trainer that wraps."""
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer


class Job:
    def __init__(self):
        self.modules = ["v_proj", "q_proj", "o_proj"]

    def run(self, rows):
        config = LoraConfig(r=16, target_modules=self.modules.sort(), task_type="CAUSAL_LM")  # LL412
        SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig("out"), train_dataset=rows, peft_config=config).train()


def run(rows):
    Job().run(rows)
