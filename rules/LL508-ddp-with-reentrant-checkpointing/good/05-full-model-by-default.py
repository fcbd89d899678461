"""Of a model without adapters the trainer knows by itself not to look."""
import os

from datasets import load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2").to(int(os.environ["LOCAL_RANK"]))
args = TrainingArguments("out", gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": True})
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
