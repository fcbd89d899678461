"""The trainer is told to look for unused parameters, and checkpointing is reentrant."""
import os

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

local_rank = int(os.environ["LOCAL_RANK"])
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", device_map={"": local_rank})
model.enable_input_require_grads()
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments(
    output_dir="out",
    gradient_checkpointing=True,
    gradient_checkpointing_kwargs={"use_reentrant": False},  # LL508
    ddp_find_unused_parameters=True,
    bf16=True,
)
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
