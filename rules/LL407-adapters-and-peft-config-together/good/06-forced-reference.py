"""Fine: force_use_ref_model says that the second model is meant, and the full fine-tuning beside it has no peft_config."""
# target: transformers==4.44.2 trl==0.11.4 peft==0.12.0
from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer


def with_adapters(base, rows, tokenizer):
    policy, reference = (AutoModelForCausalLM.from_pretrained(base) for _ in range(2))
    arguments = DPOConfig("out", force_use_ref_model=True)
    DPOTrainer(policy, ref_model=reference, args=arguments, train_dataset=rows, tokenizer=tokenizer, peft_config=LoraConfig(r=8)).train()


def in_full(base, rows, tokenizer):
    policy = AutoModelForCausalLM.from_pretrained(base)
    reference = AutoModelForCausalLM.from_pretrained(base)
    DPOTrainer(policy, ref_model=reference, args=DPOConfig("out"), train_dataset=rows, tokenizer=tokenizer).train()
