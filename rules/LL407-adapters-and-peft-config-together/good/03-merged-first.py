"""Fine: the first adapter is merged before the second one is asked for."""
from datasets import load_dataset
from peft import LoraConfig, PeftModel
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
merged = PeftModel.from_pretrained(base, "runs/first").merge_and_unload()
trainer = SFTTrainer(
    model=merged,
    args=SFTConfig("runs/second"),
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
    peft_config=LoraConfig(r=16, task_type="CAUSAL_LM"),
)
trainer.train()
