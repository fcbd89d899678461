"""Fine: the flag that quantizes the base also prepares it."""
import argparse

import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="huggyllama/llama-7b")
    parser.add_argument("--qlora", action="store_true")
    args = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(
        args.model,
        quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16) if args.qlora else None,
        device_map={"": 0} if args.qlora else None,
    )
    if args.qlora:
        model = prepare_model_for_kbit_training(model)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    training = TrainingArguments("out", bf16=True)
    Trainer(model=model, args=training, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()


main()
