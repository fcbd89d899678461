"""Fine: the flag that turns checkpointing on also turns input gradients on, in another place."""
# target: transformers==4.44.2 peft==0.12.0
import argparse

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="mistralai/Mistral-7B-v0.1")
    parser.add_argument("--gradient_checkpointing", action="store_true")
    return parser.parse_args()


def main():
    args = parse()
    model = AutoModelForCausalLM.from_pretrained(args.model)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    if args.gradient_checkpointing:
        model.enable_input_require_grads()
    training = TrainingArguments("out", gradient_checkpointing=args.gradient_checkpointing, per_device_train_batch_size=2)
    Trainer(model=model, args=training, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()


if __name__ == "__main__":
    main()
