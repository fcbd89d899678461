"""SFTTrainer of this release makes the inputs require grad only for a peft_config, not for a model that is wrapped already."""
# target: transformers==4.44.2 peft==0.12.0 trl==0.11.4
from dataclasses import dataclass

from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, HfArgumentParser
from trl import SFTConfig, SFTTrainer


@dataclass
class ScriptArguments:
    model_name: str = "mistralai/Mistral-7B-v0.1"
    lora_r: int = 16
    checkpointing: bool = True


def main():
    (args,) = HfArgumentParser(ScriptArguments).parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained(args.model_name, torch_dtype="bfloat16")
    lora = LoraConfig(r=args.lora_r, target_modules="all-linear", task_type="CAUSAL_LM")
    sft = SFTConfig(
        output_dir="sft",
        dataset_text_field="text",
        max_seq_length=1024,
        bf16=True,
        gradient_checkpointing=args.checkpointing,  # LL101
        gradient_checkpointing_kwargs={"use_reentrant": False},
    )
    data = load_dataset("json", data_files="chat.jsonl", split="train")
    trainer = SFTTrainer(model=get_peft_model(model, lora), args=sft, train_dataset=data)
    trainer.train()


main()
