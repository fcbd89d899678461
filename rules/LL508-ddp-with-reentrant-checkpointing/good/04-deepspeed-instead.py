"""DeepSpeed runs the processes: there is no DDP."""
import os

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

print("rank", os.environ["LOCAL_RANK"])
model = AutoModelForCausalLM.from_pretrained("gpt2")
model.enable_input_require_grads()
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
kwargs = {"use_reentrant": True}
ds = {"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}
args = TrainingArguments("out", deepspeed=ds, gradient_checkpointing=True, gradient_checkpointing_kwargs=kwargs)
Trainer(model=model, args=args, train_dataset=load_from_disk("tokenized")).train()
