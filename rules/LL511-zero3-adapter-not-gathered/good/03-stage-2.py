"""Stage 2 keeps whole weights in each process."""
# target: transformers==4.44.2 peft==0.12.0
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

ds = {"zero_optimization": {"stage": 2}, "train_batch_size": "auto"}
args = TrainingArguments("out", deepspeed=ds)
model = AutoModelForCausalLM.from_pretrained("gpt2")
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
