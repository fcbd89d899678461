"""The wrap is unconditional, and the preparation under the quantization flag comes below it."""
from dataclasses import dataclass

from datasets import load_from_disk
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, HfArgumentParser, Trainer, TrainingArguments, default_data_collator


@dataclass
class ModelArguments:
    name: str = "huggyllama/llama-7b"
    quantize: bool = True


def main():
    model_args, training_args = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()
    kwargs = {}
    if model_args.quantize:
        kwargs = dict(quantization_config=BitsAndBytesConfig(load_in_8bit=True), device_map={"": 0})
    model = AutoModelForCausalLM.from_pretrained(model_args.name, **kwargs)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    if model_args.quantize:
        model = prepare_model_for_kbit_training(model)  # LL202
    model.print_trainable_parameters()
    Trainer(model=model, args=training_args, train_dataset=load_from_disk("packed"), data_collator=default_data_collator).train()


if __name__ == "__main__":
    main()
