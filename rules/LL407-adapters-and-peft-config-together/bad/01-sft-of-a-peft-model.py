"""The model has adapters already, and SFTTrainer is told to attach some."""
# target: transformers==4.57.6 trl==0.27.0 peft==0.18.1
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

config = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = get_peft_model(model, config)
trainer = SFTTrainer(
    model=model,
    args=SFTConfig("out", max_steps=100),
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
    peft_config=config,  # LL407
)
trainer.train()
