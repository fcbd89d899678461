"""A plain script that spreads the model: one process, several GPUs. That the argument for DDP is there says nothing."""
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
args = TrainingArguments("out", ddp_find_unused_parameters=False)
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
