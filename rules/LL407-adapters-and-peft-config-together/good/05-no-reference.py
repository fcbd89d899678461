"""Fine: without a reference model the policy without its adapters is the reference."""
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer

use_peft = True
base = "Qwen/Qwen2.5-0.5B-Instruct"
trainer = DPOTrainer(
    AutoModelForCausalLM.from_pretrained(base),
    None if use_peft else AutoModelForCausalLM.from_pretrained(base),
    args=DPOConfig("out"),
    train_dataset=load_dataset("trl-lib/ultrafeedback_binarized", split="train"),
    processing_class=AutoTokenizer.from_pretrained(base),
    peft_config=LoraConfig(r=16, task_type="CAUSAL_LM"),
)
trainer.train()
