"""The trainer loads and wraps the model by itself."""
# target: transformers==4.44.2 peft==0.12.0 trl==0.11.4
import os

from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer


class Job:
    ZERO = {"stage": 3, "stage3_max_live_parameters": 1e9}  # LL511

    def __init__(self):
        self.base = os.environ["BASE"]
        self.config = SFTConfig(output_dir="out", deepspeed={"zero_optimization": self.ZERO, "train_batch_size": "auto"})

    def __call__(self):
        trainer = SFTTrainer(
            model=self.base,
            args=self.config,
            train_dataset=load_dataset("json", data_files="chats.jsonl", split="train"),
            peft_config=LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"),
        )
        trainer.train()
        trainer.save_model()


Job()()
