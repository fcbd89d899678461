"""Fine: this release leaves a model with adapters as it is."""
# target: transformers==4.44.2 trl==0.11.4 peft==0.12.0
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

config = LoraConfig(r=16, task_type="CAUSAL_LM")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), config)
trainer = SFTTrainer(model=model, args=SFTConfig("out"), train_dataset=load_dataset("trl-lib/Capybara", split="train"), peft_config=config)
trainer.train()
