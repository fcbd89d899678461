"""The checkpoint itself is quantized to 4 bits, so no configuration in the script says so."""
from dataclasses import dataclass

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments, default_data_collator


@dataclass
class ModelArguments:
    rank: int = 16
    data: str = "packed"


def main():
    (args,) = HfArgumentParser(ModelArguments).parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained("unsloth/llama-3-8b-bnb-4bit", device_map={"": 0})
    config = LoraConfig(r=args.rank, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], task_type="CAUSAL_LM")
    model = prepare_model_for_kbit_training(model)
    model = get_peft_model(model, config)  # LL201
    training = TrainingArguments("llama3", per_device_train_batch_size=2, learning_rate=2e-4, bf16=True)
    Trainer(model=model, args=training, train_dataset=load_from_disk(args.data), data_collator=default_data_collator).train()


if __name__ == "__main__":
    main()
