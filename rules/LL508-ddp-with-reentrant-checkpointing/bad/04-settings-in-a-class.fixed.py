"""The keywords are collected in a class before they reach the arguments."""
from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer


class Settings:
    def __init__(self, output):
        self.values = dict(output_dir=output, max_steps=200, gradient_checkpointing=True)
        self.values["gradient_checkpointing_kwargs"] = {"use_reentrant": False}  # LL508
        self.values["ddp_find_unused_parameters"] = True

    def config(self):
        return SFTConfig(**self.values)


def model():
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")


trainer = SFTTrainer(
    model=model(),
    args=Settings("sft").config(),
    train_dataset=load_dataset("json", data_files="chat.jsonl", split="train"),
    peft_config=LoraConfig(target_modules="all-linear", task_type="CAUSAL_LM"),
)
trainer.train()
