"""Each process loads the whole model on its own GPU."""
import os

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

local_rank = int(os.environ["LOCAL_RANK"])
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map={"": local_rank})
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=TrainingArguments("out"), train_dataset=load_from_disk("tokenized")).train()
