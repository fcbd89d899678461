"""Fine: the adapter was saved before it was merged."""
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
import torch

model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))
Trainer(model=model, args=TrainingArguments("out"), train_dataset=torch.load("rows.pt")).train()
model.save_pretrained("out/adapter")
model.merge_and_unload()
print(model)
