"""Fine: add_adapter comes first, and gradient_checkpointing_enable() then sees the adapter and enables input gradients."""
# target: transformers==4.44.2 peft==0.12.0
from datasets import load_from_disk
from peft import LoraConfig
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator

model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
model.add_adapter(LoraConfig(r=8, target_modules=["q_proj", "v_proj"]), adapter_name="style")
args = TrainingArguments("out", gradient_checkpointing=True, bf16=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
