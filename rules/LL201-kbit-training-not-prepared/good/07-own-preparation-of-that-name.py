"""Fine: the project's own function of the same name does the work that matters for this model."""
# target: transformers==4.44.2 peft==0.12.0
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator


def prepare_model_for_kbit_training(model, use_gradient_checkpointing=True):
    for name, param in model.named_parameters():
        param.requires_grad = False
        if "norm" in name or "lm_head" in name:
            param.data = param.data.to(torch.float32)
    if use_gradient_checkpointing:
        model.enable_input_require_grads()
        model.gradient_checkpointing_enable()
    return model


bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", quantization_config=bnb, device_map={"": 0})
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments("out", gradient_checkpointing=True, bf16=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
