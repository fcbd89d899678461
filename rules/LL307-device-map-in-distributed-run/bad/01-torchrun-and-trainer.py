"""Started by torchrun: each process asks for all GPUs."""
# fix: unsafe
import os

import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)

model = AutoModelForCausalLM.from_pretrained(
    "meta-llama/Llama-2-7b-hf",
    torch_dtype=torch.bfloat16,
    device_map="auto",  # LL307
)
model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments("out", per_device_train_batch_size=2, bf16=True, ddp_find_unused_parameters=False)
trainer = Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized"))
trainer.train()
