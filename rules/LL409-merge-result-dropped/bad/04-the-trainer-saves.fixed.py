"""The trainer's model is the emptied PeftModel, and the trainer saves it."""
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

net = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM"))
trainer = SFTTrainer(model=net, args=SFTConfig("out"), train_dataset=load_dataset("trl-lib/Capybara", split="train"))
trainer.train()
net = net.merge_and_unload()  # LL409
trainer.save_model("out/merged")
