"""Non-reentrant checkpointing, the search on: DDP sees the whole graph."""
import os

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map={"": int(os.environ["LOCAL_RANK"])})
model.enable_input_require_grads()
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
kwargs = {"use_reentrant": False}
args = TrainingArguments("out", gradient_checkpointing=True, gradient_checkpointing_kwargs=kwargs, ddp_find_unused_parameters=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
