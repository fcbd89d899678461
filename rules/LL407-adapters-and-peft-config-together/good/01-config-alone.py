"""Fine: the trainer attaches the adapters itself."""
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(
    model=AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"),
    args=SFTConfig("out"),
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
    peft_config=LoraConfig(r=16, task_type="CAUSAL_LM"),
)
trainer.train()
