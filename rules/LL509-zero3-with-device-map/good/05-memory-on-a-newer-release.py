"""Newer releases take low_cpu_mem_usage under ZeRO-3."""
# target: transformers==4.57.6 peft==0.18.1
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

ds = {"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True}, "train_batch_size": "auto"}
args = TrainingArguments("out", deepspeed=ds)
model = AutoModelForCausalLM.from_pretrained("gpt2", low_cpu_mem_usage=True)
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
