"""Fine: the Trainer computes in bfloat16."""
# target: transformers==4.44.2
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", attn_implementation="flash_attention_2")
Trainer(model=model, args=TrainingArguments("out", bf16=True), train_dataset=load_from_disk("rows")).train()
