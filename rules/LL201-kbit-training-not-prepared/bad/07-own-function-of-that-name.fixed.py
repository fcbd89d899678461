"""The script defines a function with PEFT's name that prepares nothing."""
# target: transformers==4.40.2 peft==0.10.0 bitsandbytes==0.43.3
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
import peft
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator


def prepare_model_for_kbit_training(model):
    model.config.use_cache = False
    model.config.pretraining_tp = 1
    return model


bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", quantization_config=bnb, device_map={"": 0}, torch_dtype=torch.bfloat16)
model = prepare_model_for_kbit_training(model)
model.gradient_checkpointing_enable()
model = peft.prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=64, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))  # LL201
args = TrainingArguments("llama2", per_device_train_batch_size=4, bf16=True, max_steps=1000)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
