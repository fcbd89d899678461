"""The widespread idiom: "auto" alone, the process's own GPU under a launcher."""
import os

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

device_map = "auto"
world_size = int(os.environ.get("WORLD_SIZE", 1))
ddp = world_size != 1
if ddp:
    device_map = {"": int(os.environ["LOCAL_RANK"])}

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map=device_map)
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
args = TrainingArguments("out", ddp_find_unused_parameters=False if ddp else None)
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
