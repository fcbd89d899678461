"""Fine on the pinned release: False beside quantization_config is not refused, only True is."""
# target: transformers==4.44.2 peft==0.12.0
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator

model = AutoModelForCausalLM.from_pretrained(
    "huggyllama/llama-7b",
    quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16),
    load_in_8bit=False,
    device_map={"": 0},
)
model = get_peft_model(prepare_model_for_kbit_training(model), LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))
args = TrainingArguments("out", bf16=True)
Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()
