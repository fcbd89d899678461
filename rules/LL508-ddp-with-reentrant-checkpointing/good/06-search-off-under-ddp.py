"""The usual idiom: no search when there are several processes."""
import os

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map={"": int(os.environ["LOCAL_RANK"])})
model.enable_input_require_grads()
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
ddp = int(os.environ.get("WORLD_SIZE", 1)) != 1
kwargs = {"use_reentrant": True}
search = False if ddp else None
args = TrainingArguments("out", gradient_checkpointing=True, gradient_checkpointing_kwargs=kwargs, ddp_find_unused_parameters=search)
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
