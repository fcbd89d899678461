"""Fine: a helper prepares the base between loading and wrapping, under an alias."""
import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from peft import prepare_model_for_kbit_training as prepare
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments, default_data_collator


def base(name):
    bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
    model = AutoModelForCausalLM.from_pretrained(name, quantization_config=bnb, device_map={"": 0})
    prepare(model)
    return model


def main():
    model = get_peft_model(base("huggyllama/llama-7b"), LoraConfig(r=8, target_modules=["q_proj"], task_type="CAUSAL_LM"))
    args = TrainingArguments("out", bf16=True)
    Trainer(model=model, args=args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()


main()
