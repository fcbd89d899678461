"""Fine: what trains is cast to float32 before it does."""
# target: transformers==4.40.2 peft==0.10.0
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.float16)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
for parameter in model.parameters():
    if parameter.requires_grad:
        parameter.data = parameter.data.float()
Trainer(model=model, args=TrainingArguments("out", fp16=True), train_dataset=load_from_disk("rows")).train()
