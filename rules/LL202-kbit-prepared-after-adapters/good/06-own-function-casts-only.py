"""Fine: the function of that name is the project's own; it casts the norms and freezes nothing."""
# target: transformers==5.0.0 peft==0.18.1
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator


def prepare_model_for_kbit_training(model):
    for name, module in model.named_modules():
        if "norm" in name:
            module.to(torch.float32)
    return model


model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", dtype=torch.bfloat16)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
model = prepare_model_for_kbit_training(model)
args = TrainingArguments("out", bf16=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
