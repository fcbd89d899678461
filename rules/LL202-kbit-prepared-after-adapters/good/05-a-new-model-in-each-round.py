"""Fine: every round of the search loads, prepares and wraps a model of its own."""
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator

data = load_from_disk("packed")
for rank in (4, 8, 16):
    bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
    model = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b", quantization_config=bnb, device_map={"": 0})
    model = prepare_model_for_kbit_training(model)
    model = get_peft_model(model, LoraConfig(r=rank, target_modules=["q_proj"], task_type="CAUSAL_LM"))
    args = TrainingArguments(f"rank-{rank}", bf16=True, max_steps=200)
    Trainer(model=model, args=args, train_dataset=data, data_collator=default_data_collator).train()
    model.save_pretrained(f"rank-{rank}")
