"""The reference is the second argument of DPOTrainer, in a class, and no release is pinned."""
from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer


class Alignment:
    def __init__(self, base):
        self.policy = AutoModelForCausalLM.from_pretrained(base)
        self.reference = AutoModelForCausalLM.from_pretrained(base)

    def run(self, rows, tokenizer):
        trainer = DPOTrainer(
            self.policy,
            self.reference,  # LL407
            args=DPOConfig("out"),
            train_dataset=rows,
            processing_class=tokenizer,
            peft_config=LoraConfig(r=8, task_type="CAUSAL_LM"),
        )
        trainer.train()


def align(rows, tokenizer):
    Alignment("Qwen/Qwen2.5-0.5B-Instruct").run(rows, tokenizer)
