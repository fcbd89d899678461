"""A Trainer without mixed precision, over adapters, in a function."""
# target: transformers==4.57.6 peft==0.18.1
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(base, fast=True):
    model = AutoModelForCausalLM.from_pretrained(base, attn_implementation="flash_attention_2")  # LL514
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    args = TrainingArguments("out", learning_rate=1e-4, per_device_train_batch_size=2)
    Trainer(model=model, args=args, train_dataset=load_from_disk("rows")).train()


main("Qwen/Qwen2.5-0.5B")
