"""Stage 2 does not shard the weights: a map to the process's own GPU is right."""
import os

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

ds = {"zero_optimization": {"stage": 2}, "train_batch_size": "auto"}
args = TrainingArguments("out", deepspeed=ds)
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map={"": int(os.environ["LOCAL_RANK"])}, low_cpu_mem_usage=True)
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
