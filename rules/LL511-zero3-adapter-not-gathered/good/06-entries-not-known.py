"""More entries come from a file, and gathering may be among them."""
import json

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

more = json.load(open("zero.json"))
ds = {"zero_optimization": {"stage": 3, **more}, "train_batch_size": "auto"}
args = TrainingArguments("out", deepspeed=ds)
model = AutoModelForCausalLM.from_pretrained("gpt2")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
