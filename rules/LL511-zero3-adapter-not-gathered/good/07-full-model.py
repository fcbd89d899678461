"""Without adapters the rule has nothing to say: zero_to_fp32.py recovers the weights."""
# target: transformers==4.44.2
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

ds = {"zero_optimization": {"stage": 3}, "train_batch_size": "auto"}
args = TrainingArguments("out", deepspeed=ds)
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
