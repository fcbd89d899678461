"""The adapters are told to keep the type of the base."""
# target: transformers==4.57.6 peft==0.18.1
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

half = dict(dtype=torch.float16)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", **half)
config = LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM")
model = get_peft_model(model, config, autocast_adapter_dtype=False)
Trainer(model=model, args=TrainingArguments("out", fp16=True), train_dataset=load_from_disk("rows")).train()  # LL503
