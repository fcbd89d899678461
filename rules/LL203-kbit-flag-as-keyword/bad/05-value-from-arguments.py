"""The value comes from the command line, and the 4-bit details travel as further keywords."""
# target: transformers>=4.57.6 peft>=0.18
from dataclasses import dataclass

import torch
from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments, default_data_collator


@dataclass
class ModelArguments:
    name: str = "meta-llama/Llama-3.1-8B"
    four_bit: bool = True


def main():
    args, training = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained(
        args.name,
        device_map={"": 0},
        load_in_4bit=args.four_bit,  # LL203
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    model = prepare_model_for_kbit_training(model)
    model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
    Trainer(model=model, args=training, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()


if __name__ == "__main__":
    main()
