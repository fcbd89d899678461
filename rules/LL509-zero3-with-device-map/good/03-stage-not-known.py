"""Which stage the file asks for, the source does not say."""
import json
import sys

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

ds = json.load(open(sys.argv[1]))
args = TrainingArguments("out", deepspeed=ds)
model = AutoModelForCausalLM.from_pretrained("gpt2", low_cpu_mem_usage=True, device_map={"": 0})
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
