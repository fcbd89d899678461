"""ORPO moved to trl.experimental: the class is the same, under another module."""
# target: trl==0.29.1 transformers==5.0.0 peft==0.18.1

from datasets import load_dataset
from peft import LoraConfig
from trl import ORPOConfig  # LL701
from trl import ORPOTrainer  # LL701

dataset = load_dataset("trl-lib/ultrafeedback_binarized", split="train")
trainer = ORPOTrainer(
    model="Qwen/Qwen2-0.5B-Instruct",
    args=ORPOConfig(output_dir="orpo", beta=0.1),
    train_dataset=dataset,
    peft_config=LoraConfig(task_type="CAUSAL_LM"),
)
trainer.train()
