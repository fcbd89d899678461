"""DPO with LoRA and a second model as the reference."""
# target: transformers==4.44.2 trl==0.11.4 peft==0.12.0
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct")
policy = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct")
reference = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct")
trainer = DPOTrainer(
    model=policy,
    ref_model=reference,  # LL407
    args=DPOConfig("out", beta=0.1),
    train_dataset=load_dataset("trl-lib/ultrafeedback_binarized", split="train"),
    tokenizer=tokenizer,
    peft_config=LoraConfig(r=16, task_type="CAUSAL_LM"),
)
trainer.train()
