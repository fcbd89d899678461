"""Fine: what trains lies after the checkpointed blocks, so nothing inside them needs a gradient."""
# target: transformers==4.44.2
from datasets import load_from_disk
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator

model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
for parameter in model.parameters():
    parameter.requires_grad = False
for parameter in model.lm_head.parameters():
    parameter.requires_grad = True
args = TrainingArguments("head", gradient_checkpointing=True, bf16=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
