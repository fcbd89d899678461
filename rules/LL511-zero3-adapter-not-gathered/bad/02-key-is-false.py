"""Gathering is switched off to save memory."""
# target: transformers==4.57.6 peft==0.18.1 trl==0.24.0
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer


def deepspeed_section(offload):
    section = {"stage": 3, "stage3_gather_16bit_weights_on_model_save": False}  # LL511
    if offload:
        section["offload_param"] = {"device": "cpu"}
    return section


def main():
    config = SFTConfig("sft", deepspeed={"zero_optimization": deepspeed_section(True), "bf16": {"enabled": True}})
    trainer = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-32B"),
        args=config,
        train_dataset=load_dataset("json", data_files="chat.jsonl", split="train"),
        peft_config=LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"),
    )
    trainer.train()
    trainer.save_model()


main()
